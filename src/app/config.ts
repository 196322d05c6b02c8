/** All settings: the table that --help, completions and deploy/.env.example are made from, and the Config that the program and every
 * command read once from the environment and flags. All mistakes are reported together, each with its fix. */
import { resolve } from "node:path";
import ipaddr from "ipaddr.js";
import {
  choice,
  cidrList,
  commaList,
  hostName,
  InvalidSetting,
  ipList,
  listen,
  listenList,
  matching,
  millisList,
  quote,
  relayFallback,
  type Shape,
  sender,
  siteLimits,
  sources,
  text,
  url,
  whole,
} from "./config-shapes.ts";

export const roles = ["api", "delivery", "inbound", "dns", "webhooks", "housekeeping"] as const;
export type Role = (typeof roles)[number];

/** Each setting with its type, default and help. `posthorn start --help` prints this table. */
export const settings = {
  DATABASE_URL: {
    shape: url("postgres:", "postgresql:"),
    help: "URL of an external PostgreSQL (15 or newer). Unset: Posthorn runs its own in the data directory.",
  },
  POSTHORN_DATA_DIR: {
    shape: text,
    value: "./data",
    help: "Directory of the embedded database, the secret, the first key and ports.json.",
  },
  POSTHORN_ROLES: {
    shape: commaList,
    value: "all",
    help: `Roles of this process: all, or a comma list of ${roles.join(", ")}.`,
  },
  POSTHORN_HTTP: {
    shape: listen,
    value: "127.0.0.1:8825",
    help: "Listen address of the API and the dashboard. Port 0 picks a free one.",
  },
  POSTHORN_SMTP: { shape: listen, value: "127.0.0.1:2525", help: "Listen address for inbound mail." },
  POSTHORN_DNS: {
    shape: listen,
    value: "127.0.0.1:5354",
    help: "Listen address of the DNS server for the zone, UDP and TCP.",
  },
  POSTHORN_OPS: {
    shape: listen,
    help: "Listen address for /healthz, /readyz with details and /metrics, on every node. Default: 127.0.0.1:8826, or a free port if that one is taken.",
  },
  POSTHORN_PUBLIC_URL: {
    shape: url("http:", "https:"),
    help: "URL of this service for people and programs. Default: the HTTP listener.",
  },
  POSTHORN_HOSTNAME: {
    shape: hostName,
    help: "Host name in HELO; its PTR and A records should match. Default: mail. under the zone.",
  },
  POSTHORN_PUBLIC_IPS: {
    shape: ipList,
    value: "",
    help: "Addresses that mail leaves from and inbound mail arrives at, for SPF and host records; comma list.",
  },
  POSTHORN_API_KEY: {
    shape: matching(
      /^[\x21-\x7e]{32,512}$/,
      "must have 32 to 512 printable characters without spaces; generate one with: openssl rand -hex 24",
    ),
    help: "The first key of the first workspace, instead of a generated one.",
  },
  POSTHORN_SECRET: {
    shape: matching(/^.{32,}$/s, "must have at least 32 characters; generate one with: openssl rand -hex 32"),
    help: "Encrypts keys at rest and signs tokens. Unset: generated on first start and kept in the data directory.",
  },
  POSTHORN_TRUSTED_PROXIES: {
    shape: cidrList,
    value: "",
    help: "Proxies whose X-Forwarded-For is trusted, comma list of CIDR ranges.",
  },
  POSTHORN_CORS_ORIGINS: {
    shape: commaList,
    value: "",
    help: "Other origins whose pages may call the API, comma list.",
  },
  POSTHORN_ZONE: { shape: hostName, value: "mail.posthorn.test", help: "The DNS zone that this service answers for." },
  POSTHORN_RESOLVERS: {
    shape: listenList,
    help: "Recursive resolvers, host:port list. Default: the system's; in capture mode, our own DNS answers for reserved names.",
  },
  POSTHORN_DELIVERY: {
    shape: choice("capture", "direct", "relay"),
    value: "capture",
    help: "capture keeps mail on this machine, direct delivers to the recipients' MX, relay sends through POSTHORN_RELAY_URL.",
  },
  POSTHORN_RELAY_URL: {
    shape: url("smtp:", "smtps:"),
    help: "The smart host for relay mode: smtp://user:password@host:587.",
  },
  POSTHORN_RELAY_FALLBACK: {
    shape: relayFallback,
    value: "",
    help: "In direct mode, when to send through POSTHORN_RELAY_URL: after this many failures in a row at a site, always at named sites, or both: 3,outlook.com.",
  },
  POSTHORN_SOURCE_IPS: {
    shape: sources,
    value: "",
    help: "Local addresses that mail leaves from, each with an optional HELO name and weight: 203.0.113.5=mx1.example.com*3,203.0.113.6. Default: the system's choice.",
  },
  POSTHORN_MTA_STS_PORT: {
    shape: whole(1, 65535),
    value: "443",
    help: "The port of recipients' MTA-STS policy hosts.",
  },
  POSTHORN_SITE_LIMITS: {
    shape: siteLimits,
    value: "",
    help: "Concurrent connections to a receiver's MX site from all nodes together, and messages per second after a slash: google.com=20,orange.fr=3/2,*=10. Defaults: docs/delivery.md.",
  },
  POSTHORN_MX_PORT: { shape: whole(1, 65535), value: "25", help: "The port of recipients' mail servers." },
  POSTHORN_NS_PORT: { shape: whole(1, 65535), value: "53", help: "The port of customers' own DNS servers." },
  POSTHORN_ALLOW_PRIVATE_MX: {
    shape: cidrList,
    value: "",
    help: "Private ranges that mail and DNS queries may go to, comma list of CIDR ranges.",
  },
  POSTHORN_ALLOW_PRIVATE_WEBHOOKS: {
    shape: cidrList,
    value: "",
    help: "Private ranges that webhooks may go to, also over http; comma list of CIDR ranges.",
  },
  POSTHORN_REGION: { shape: text, value: "local", help: "The region name shown on domains." },
  POSTHORN_SIGNUP: {
    shape: choice("first", "open", "closed"),
    value: "first",
    help: "Who may sign up in the dashboard without an invitation: the first person only (first), everyone (open), or no one (closed).",
  },
  POSTHORN_SYSTEM_FROM: {
    shape: sender,
    help: "Sender of account emails to people, at a domain of the first workspace. Default in capture mode: posthorn@example.test.",
  },
  POSTHORN_TLS_CERT: { shape: text, help: "Certificate file (PEM) for STARTTLS." },
  POSTHORN_TLS_KEY: { shape: text, help: "Key file (PEM) for STARTTLS." },
  POSTHORN_RETRY_SCHEDULE_MS: {
    shape: millisList,
    value: "30000,120000,300000,900000,1800000,3600000,7200000,14400000",
    help: "Delays between delivery attempts; the last one repeats.",
  },
  POSTHORN_RETRY_FOR_MS: {
    shape: whole(1000, 30 * 86400_000),
    value: "172800000",
    help: "How long a temporary failure is retried before the email bounces.",
  },
  POSTHORN_WEBHOOK_SCHEDULE_MS: {
    shape: millisList,
    value: "5000,300000,1800000,7200000,18000000,36000000,36000000",
    help: "Delays between webhook attempts.",
  },
  POSTHORN_WEBHOOK_TIMEOUT_MS: {
    shape: whole(100, 60_000),
    value: "15000",
    help: "How long a webhook endpoint may take, from the DNS lookup to the end of its response.",
  },
  POSTHORN_WEBHOOK_DISABLE_AFTER_MS: {
    shape: whole(1000, 90 * 86_400_000),
    value: "432000000",
    help: "A webhook whose attempts have all failed for this long is disabled.",
  },
  POSTHORN_STREAM_HEARTBEAT_MS: {
    shape: whole(100, 60_000),
    value: "15000",
    help: "How often an idle event stream sends its cursor.",
  },
  POSTHORN_STREAM_STALL_MS: {
    shape: whole(1000, 3600_000),
    value: "60000",
    help: "A stream whose client reads nothing for this long is closed.",
  },
  POSTHORN_VERIFY_INTERVAL_MS: {
    shape: whole(0, 3600_000),
    value: "30000",
    help: "Minimum time between two DNS checks of one domain by VerifyDomain.",
  },
  POSTHORN_CONTENT_DAYS: {
    shape: whole(1, 3650),
    value: "30",
    help: "Days that message content is kept after its last day of use.",
  },
  POSTHORN_HISTORY_DAYS: {
    shape: whole(1, 3650),
    value: "90",
    help: "Days that finished emails, recipients and events are kept.",
  },
  POSTHORN_RATE_PER_SECOND: { shape: whole(1, 1_000_000), value: "5000", help: "Requests per second per key." },
  POSTHORN_RATE_BURST: {
    shape: whole(1, 10_000_000),
    value: "10000",
    help: "Requests that a key may make in a burst.",
  },
  POSTHORN_MAX_BODY_BYTES: {
    shape: whole(1024, 256 * 1024 * 1024),
    value: String(64 * 1024 * 1024),
    help: "Largest request body.",
  },
  POSTHORN_MAX_RECIPIENTS: {
    shape: whole(1, 1000),
    value: "50",
    help: "Most recipients of one email: to, cc and bcc together.",
  },
  POSTHORN_MAX_MESSAGE_BYTES: {
    shape: whole(1024, 100 * 1024 * 1024),
    value: String(40 * 1024 * 1024),
    help: "Largest composed message.",
  },
  POSTHORN_MAX_ATTACHMENTS: { shape: whole(0, 1000), value: "100", help: "Most attachments of one email." },
  POSTHORN_DATABASE_POOL: {
    shape: whole(2, 200),
    value: "10",
    help: "PostgreSQL connections of this process; wake-ups use one more.",
  },
  POSTHORN_DRAIN_MS: {
    shape: whole(0, 600_000),
    value: "10000",
    help: "How long a stopping process waits for work in progress.",
  },
  POSTHORN_METRICS_TOKEN: {
    shape: matching(/^.{16,}$/s, "must have at least 16 characters"),
    help: "Bearer token for /metrics on POSTHORN_HTTP, and for details and /metrics on a POSTHORN_OPS outside loopback.",
  },
  POSTHORN_LOG_LEVEL: {
    shape: choice("trace", "debug", "info", "warn", "error", "silent"),
    value: "info",
    help: "Lowest level that is logged.",
  },
  POSTHORN_LOG_FORMAT: {
    shape: choice("auto", "json", "pretty"),
    value: "auto",
    help: "auto: readable on a terminal, JSON elsewhere.",
  },
} as const satisfies Record<string, { shape: Shape<unknown>; value?: string; help: string }>;

type Settings = typeof settings;
type Value<K extends keyof Settings> =
  | ReturnType<Settings[K]["shape"]>
  | (Settings[K] extends { value: string } ? never : undefined);
type Values = { [K in keyof Settings]: Value<K> };

export type Config = ReturnType<typeof shapeConfig>;

export class ConfigError extends Error {
  readonly problems: string[];

  constructor(problems: string[]) {
    super(
      `The configuration has ${problems.length === 1 ? "a mistake" : `${problems.length} mistakes`}:\n${problems.map((p) => `  ${p}`).join("\n")}`,
    );
    this.name = "ConfigError";
    this.problems = problems;
  }
}

/** Reads the environment. An unknown POSTHORN_ name is an error: a typo must not silently leave a setting at its default. */
export function readConfig(env: Record<string, string | undefined>): Config {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(settings) as [string, { shape: Shape<unknown>; value?: string }][]) {
    const text = env[name]?.trim() || setting.value;
    if (text === undefined) continue;
    try {
      values[name] = setting.shape(text);
    } catch (error) {
      if (!(error instanceof InvalidSetting)) throw error;
      problems.push(`${name}: ${error.message}`);
    }
  }
  for (const name of Object.keys(env)) {
    if (name.startsWith("POSTHORN_") && !(name in settings) && !clientSettings.has(name)) {
      problems.push(`${name} is not a Posthorn setting${closest(name)}`);
    }
  }
  const config = problems.length === 0 ? shapeConfig(values as Values, problems) : undefined;
  if (!config || problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** Read from the same environment by commands that act as API clients, and by tests. */
const clientSettings = new Set(["POSTHORN_URL", "POSTHORN_KEY"]);

export const defaultOpsPort = 8826;

function shapeConfig(values: Values, problems: string[]) {
  const http = values.POSTHORN_HTTP;
  const chosen = values.POSTHORN_ROLES.includes("all") ? [...roles] : values.POSTHORN_ROLES;
  const unknown = chosen.filter((role) => !(roles as readonly string[]).includes(role));
  if (unknown.length > 0 || chosen.length === 0) {
    problems.push(
      `POSTHORN_ROLES: ${unknown.map(quote).join(", ") || "an empty list"} is not one of: all, ${roles.join(", ")}`,
    );
  }
  if (values.POSTHORN_DELIVERY === "relay" && !values.POSTHORN_RELAY_URL) {
    problems.push("POSTHORN_RELAY_URL: relay mode needs it, for example smtp://user:password@smtp.example.com:587");
  }
  const fallback = values.POSTHORN_RELAY_FALLBACK;
  if (fallback && !(values.POSTHORN_DELIVERY === "direct" && values.POSTHORN_RELAY_URL)) {
    problems.push("POSTHORN_RELAY_FALLBACK: needs POSTHORN_DELIVERY=direct, and the relay in POSTHORN_RELAY_URL");
  }
  if (!values.POSTHORN_TLS_CERT !== !values.POSTHORN_TLS_KEY) {
    problems.push("POSTHORN_TLS_CERT and POSTHORN_TLS_KEY: set both or neither");
  }
  // If the operator gave this port to another listener, the operations port moves to a free one.
  const used = [http, values.POSTHORN_SMTP, values.POSTHORN_DNS].some(({ port }) => port === defaultOpsPort);
  const ops = values.POSTHORN_OPS ?? { host: "127.0.0.1", port: used ? 0 : defaultOpsPort };
  if (!isLoopback(ops.host) && values.POSTHORN_METRICS_TOKEN === undefined) {
    problems.push(
      "POSTHORN_OPS: an address outside loopback needs POSTHORN_METRICS_TOKEN; generate one with: openssl rand -hex 24",
    );
  }
  return {
    databaseUrl: values.DATABASE_URL,
    databasePool: values.POSTHORN_DATABASE_POOL,
    dataDir: resolve(values.POSTHORN_DATA_DIR),
    roles: new Set(chosen as Role[]),
    http,
    smtp: values.POSTHORN_SMTP,
    dns: values.POSTHORN_DNS,
    ops: { ...ops, chosen: values.POSTHORN_OPS !== undefined },
    onLoopback: isLoopback(http.host),
    publicUrl: values.POSTHORN_PUBLIC_URL?.replace(/\/+$/, ""),
    zone: values.POSTHORN_ZONE,
    hostname: values.POSTHORN_HOSTNAME ?? `mail.${values.POSTHORN_ZONE}`,
    publicIps: values.POSTHORN_PUBLIC_IPS,
    apiKey: values.POSTHORN_API_KEY,
    secret: values.POSTHORN_SECRET,
    trustedProxies: values.POSTHORN_TRUSTED_PROXIES,
    corsOrigins: values.POSTHORN_CORS_ORIGINS,
    resolvers: values.POSTHORN_RESOLVERS,
    delivery: values.POSTHORN_DELIVERY,
    relayUrl: values.POSTHORN_RELAY_URL,
    siteLimits: values.POSTHORN_SITE_LIMITS,
    sources: values.POSTHORN_SOURCE_IPS,
    relayFallback: fallback,
    mtaStsPort: values.POSTHORN_MTA_STS_PORT,
    mxPort: values.POSTHORN_MX_PORT,
    nameServerPort: values.POSTHORN_NS_PORT,
    allowPrivateMx: values.POSTHORN_ALLOW_PRIVATE_MX,
    allowPrivateWebhooks: values.POSTHORN_ALLOW_PRIVATE_WEBHOOKS,
    region: values.POSTHORN_REGION,
    signup: values.POSTHORN_SIGNUP,
    systemFrom: values.POSTHORN_SYSTEM_FROM,
    tls:
      values.POSTHORN_TLS_CERT && values.POSTHORN_TLS_KEY
        ? { certFile: values.POSTHORN_TLS_CERT, keyFile: values.POSTHORN_TLS_KEY }
        : undefined,
    retry: { scheduleMs: values.POSTHORN_RETRY_SCHEDULE_MS, forMs: values.POSTHORN_RETRY_FOR_MS },
    webhooks: {
      scheduleMs: values.POSTHORN_WEBHOOK_SCHEDULE_MS,
      timeoutMs: values.POSTHORN_WEBHOOK_TIMEOUT_MS,
      disableAfterMs: values.POSTHORN_WEBHOOK_DISABLE_AFTER_MS,
    },
    stream: { heartbeatMs: values.POSTHORN_STREAM_HEARTBEAT_MS, stallMs: values.POSTHORN_STREAM_STALL_MS },
    verifyIntervalMs: values.POSTHORN_VERIFY_INTERVAL_MS,
    contentDays: values.POSTHORN_CONTENT_DAYS,
    historyDays: values.POSTHORN_HISTORY_DAYS,
    rate: { perSecond: values.POSTHORN_RATE_PER_SECOND, burst: values.POSTHORN_RATE_BURST },
    limits: {
      bodyBytes: values.POSTHORN_MAX_BODY_BYTES,
      recipients: values.POSTHORN_MAX_RECIPIENTS,
      messageBytes: values.POSTHORN_MAX_MESSAGE_BYTES,
      attachments: values.POSTHORN_MAX_ATTACHMENTS,
    },
    drainMs: values.POSTHORN_DRAIN_MS,
    metricsToken: values.POSTHORN_METRICS_TOKEN,
    logLevel: values.POSTHORN_LOG_LEVEL,
    logFormat: values.POSTHORN_LOG_FORMAT,
  };
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || (ipaddr.isValid(host) && ipaddr.process(host).range() === "loopback");
}

/** The known setting that shares most words with a mistyped one, as a hint. */
function closest(name: string): string {
  const words = new Set(name.split("_"));
  const score = (other: string) => other.split("_").filter((word) => words.has(word)).length;
  const best = Object.keys(settings).reduce((a, b) => (score(b) > score(a) ? b : a));
  return score(best) > 1 ? `; did you mean ${best}?` : "; remove it, or see: posthorn start --help";
}
