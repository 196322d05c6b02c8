/** Everything an operator can set, read once from the environment and flags; every mistake is reported at once with its fix. */
import { resolve } from "node:path";
import ipaddr from "ipaddr.js";
import {
  choice,
  cidrList,
  commaList,
  hostName,
  ipList,
  listen,
  listenList,
  matching,
  millisList,
  quote,
  type Shape,
  sender,
  siteLimits,
  sources,
  text,
  url,
  WrongText,
  whole,
} from "./config-shapes.ts";

export const roles = ["api", "delivery", "inbound", "dns", "webhooks", "housekeeping"] as const;
export type Role = (typeof roles)[number];

/** One line per setting: name, shape, default, help. `posthorn start --help` and docs/operate.md print this table. */
export const settings = {
  DATABASE_URL: {
    shape: url("postgres:", "postgresql:"),
    help: "An external PostgreSQL (15 or newer). Unset: Posthorn runs its own in the data directory.",
  },
  POSTHORN_DATA_DIR: {
    shape: text,
    value: "./data",
    help: "Where the embedded database, the secret, the first key and ports.json live.",
  },
  POSTHORN_ROLES: {
    shape: commaList,
    value: "all",
    help: `What this process does: all, or a comma list of ${roles.join(", ")}.`,
  },
  POSTHORN_HTTP: {
    shape: listen,
    value: "127.0.0.1:8825",
    help: "Where the API and the dashboard listen. Port 0 picks a free one.",
  },
  POSTHORN_SMTP: { shape: listen, value: "127.0.0.1:2525", help: "Where inbound mail is received." },
  POSTHORN_DNS: {
    shape: listen,
    value: "127.0.0.1:5354",
    help: "Where the DNS server for the zone listens, UDP and TCP.",
  },
  POSTHORN_OPS: {
    shape: listen,
    help: "Where every node serves /healthz, /readyz with details and /metrics. Default: 127.0.0.1:8826, or a free port while another program has that one.",
  },
  POSTHORN_PUBLIC_URL: {
    shape: url("http:", "https:"),
    help: "The address people and programs reach this service under. Default: the HTTP listener.",
  },
  POSTHORN_HOSTNAME: {
    shape: hostName,
    help: "The name said in HELO; its PTR and A records should agree. Default: mail. under the zone.",
  },
  POSTHORN_PUBLIC_IPS: {
    shape: ipList,
    value: "",
    help: "The addresses mail leaves from and inbound mail arrives at, comma list, for SPF and host records.",
  },
  POSTHORN_API_KEY: {
    shape: matching(
      /^[\x21-\x7e]{32,512}$/,
      "must have 32 to 512 printable characters without spaces; make one with: openssl rand -hex 24",
    ),
    help: "The first key of the first workspace, instead of a made one.",
  },
  POSTHORN_SECRET: {
    shape: matching(/^.{32,}$/s, "must have at least 32 characters; make one with: openssl rand -hex 32"),
    help: "Encrypts keys at rest and signs tokens. Unset: made on first start, kept in the data directory.",
  },
  POSTHORN_TRUSTED_PROXIES: { shape: cidrList, value: "", help: "CIDR list of proxies whose X-Forwarded-For counts." },
  POSTHORN_CORS_ORIGINS: {
    shape: commaList,
    value: "",
    help: "Other origins whose pages may call the API, comma list.",
  },
  POSTHORN_ZONE: { shape: hostName, value: "mail.posthorn.test", help: "The DNS zone this service answers for." },
  POSTHORN_RESOLVERS: {
    shape: listenList,
    help: "Recursive resolvers, host:port list. Default: the system's; in capture mode reserved names are asked of our own DNS.",
  },
  POSTHORN_DELIVERY: {
    shape: choice("capture", "direct", "relay"),
    value: "capture",
    help: "capture keeps mail on this machine, direct delivers to the recipients' MX, relay hands over to POSTHORN_RELAY_URL.",
  },
  POSTHORN_RELAY_URL: {
    shape: url("smtp:", "smtps:"),
    help: "The smart host of relay mode, smtp://user:password@host:587.",
  },
  POSTHORN_RELAY_FALLBACK: {
    shape: commaList,
    value: "",
    help: "In direct mode, when POSTHORN_RELAY_URL takes over: a number of failures in a row at a site, names of sites, or both: 3,outlook.com.",
  },
  POSTHORN_SOURCE_IPS: {
    shape: sources,
    value: "",
    help: "Local addresses that mail leaves from, with the name said in HELO and a weight: 203.0.113.5=mx1.example.com*3,203.0.113.6. Default: the system's choice.",
  },
  POSTHORN_MTA_STS_PORT: {
    shape: whole(1, 65535),
    value: "443",
    help: "The port of recipients' MTA-STS policy hosts.",
  },
  POSTHORN_SITE_LIMITS: {
    shape: siteLimits,
    value: "",
    help: "Connections to a receiver's MX site at once, of all nodes together, and messages per second behind a slash: google.com=20,orange.fr=3/2,*=10. Others: docs/delivery.md.",
  },
  POSTHORN_MX_PORT: { shape: whole(1, 65535), value: "25", help: "The port of recipients' mail servers." },
  POSTHORN_NS_PORT: { shape: whole(1, 65535), value: "53", help: "The port of customers' own DNS servers." },
  POSTHORN_ALLOW_PRIVATE_MX: {
    shape: cidrList,
    value: "",
    help: "CIDR list of private ranges that mail and DNS questions may go to.",
  },
  POSTHORN_ALLOW_PRIVATE_WEBHOOKS: {
    shape: cidrList,
    value: "",
    help: "CIDR list of private ranges that webhooks may go to, http included.",
  },
  POSTHORN_REGION: { shape: text, value: "local", help: "The region name shown on domains." },
  POSTHORN_SIGNUP: {
    shape: choice("first", "open", "closed"),
    value: "first",
    help: "Who may sign up at the dashboard: the first person only, anybody (open), or nobody but the invited (closed).",
  },
  POSTHORN_SYSTEM_FROM: {
    shape: sender,
    help: "The sender of mails to people about their accounts, a domain of the first workspace. Default in capture mode: posthorn@example.test.",
  },
  POSTHORN_TLS_CERT: { shape: text, help: "Certificate file (PEM) for STARTTLS." },
  POSTHORN_TLS_KEY: { shape: text, help: "Key file (PEM) for STARTTLS." },
  POSTHORN_RETRY_SCHEDULE_MS: {
    shape: millisList,
    value: "30000,120000,300000,900000,1800000,3600000,7200000,14400000",
    help: "Waits between delivery attempts; the last one repeats.",
  },
  POSTHORN_RETRY_FOR_MS: {
    shape: whole(1000, 30 * 86400_000),
    value: "172800000",
    help: "How long a temporary failure is retried before it bounces.",
  },
  POSTHORN_WEBHOOK_SCHEDULE_MS: {
    shape: millisList,
    value: "5000,300000,1800000,7200000,18000000,36000000,36000000",
    help: "Waits between webhook attempts.",
  },
  POSTHORN_WEBHOOK_TIMEOUT_MS: {
    shape: whole(100, 60_000),
    value: "15000",
    help: "How long a webhook endpoint may take, from the DNS look-up to the end of its answer.",
  },
  POSTHORN_WEBHOOK_DISABLE_AFTER_MS: {
    shape: whole(1000, 90 * 86_400_000),
    value: "432000000",
    help: "Nothing but failures for this long disables a webhook.",
  },
  POSTHORN_STREAM_HEARTBEAT_MS: {
    shape: whole(100, 60_000),
    value: "15000",
    help: "How often an event stream with nothing to say says its cursor.",
  },
  POSTHORN_STREAM_STALL_MS: {
    shape: whole(1000, 3600_000),
    value: "60000",
    help: "A stream that is not read for this long is ended.",
  },
  POSTHORN_VERIFY_INTERVAL_MS: {
    shape: whole(0, 3600_000),
    value: "30000",
    help: "How often VerifyDomain may look up one domain afresh.",
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
  POSTHORN_RATE_PER_SECOND: { shape: whole(1, 1_000_000), value: "5000", help: "Requests per second and key." },
  POSTHORN_RATE_BURST: { shape: whole(1, 10_000_000), value: "10000", help: "Requests a key may make at once." },
  POSTHORN_MAX_BODY_BYTES: {
    shape: whole(1024, 256 * 1024 * 1024),
    value: String(64 * 1024 * 1024),
    help: "Largest request body.",
  },
  POSTHORN_MAX_RECIPIENTS: {
    shape: whole(1, 1000),
    value: "50",
    help: "Recipients of one email, to, cc and bcc together.",
  },
  POSTHORN_MAX_MESSAGE_BYTES: {
    shape: whole(1024, 100 * 1024 * 1024),
    value: String(40 * 1024 * 1024),
    help: "Largest composed message.",
  },
  POSTHORN_MAX_ATTACHMENTS: { shape: whole(0, 1000), value: "100", help: "Attachments of one email." },
  POSTHORN_DATABASE_POOL: {
    shape: whole(2, 200),
    value: "10",
    help: "Connections of this process to PostgreSQL, one more for wake-ups.",
  },
  POSTHORN_DRAIN_MS: {
    shape: whole(0, 600_000),
    value: "10000",
    help: "How long a stopping process waits for work in hand.",
  },
  POSTHORN_METRICS_TOKEN: {
    shape: matching(/^.{16,}$/s, "must have at least 16 characters"),
    help: "Bearer token for /metrics on POSTHORN_HTTP, and for details and /metrics on a POSTHORN_OPS beyond loopback.",
  },
  POSTHORN_LOG_LEVEL: {
    shape: choice("trace", "debug", "info", "warn", "error", "silent"),
    value: "info",
    help: "How much is logged.",
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

/** Reads the environment. Unknown POSTHORN_ names are mistakes too: a typing error must not silently mean the default. */
export function readConfig(env: Record<string, string | undefined>): Config {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(settings) as [string, { shape: Shape<unknown>; value?: string }][]) {
    const text = env[name]?.trim() || setting.value;
    if (text === undefined) continue;
    try {
      values[name] = setting.shape(text);
    } catch (error) {
      if (!(error instanceof WrongText)) throw error;
      problems.push(`${name}: ${error.message}`);
    }
  }
  for (const name of Object.keys(env)) {
    if (name.startsWith("POSTHORN_") && !(name in settings) && !elsewhere.has(name)) {
      problems.push(`${name} is no setting of Posthorn${closest(name)}`);
    }
  }
  const config = problems.length === 0 ? shapeConfig(values as Values, problems) : undefined;
  if (!config || problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** Names that clients and tests of ours use in the same environment. */
const elsewhere = new Set(["POSTHORN_URL", "POSTHORN_KEY"]);

export const defaultOpsPort = 8826;

function shapeConfig(values: Values, problems: string[]) {
  const http = values.POSTHORN_HTTP;
  const chosen = values.POSTHORN_ROLES.includes("all") ? [...roles] : values.POSTHORN_ROLES;
  const unknown = chosen.filter((role) => !(roles as readonly string[]).includes(role));
  if (unknown.length > 0 || chosen.length === 0) {
    problems.push(
      `POSTHORN_ROLES: ${unknown.map(quote).join(", ") || "an empty list"} is none of all, ${roles.join(", ")}`,
    );
  }
  if (values.POSTHORN_DELIVERY === "relay" && !values.POSTHORN_RELAY_URL) {
    problems.push("POSTHORN_RELAY_URL: relay mode needs it, for example smtp://user:password@smtp.example.com:587");
  }
  const relayFallback = readFallback(values.POSTHORN_RELAY_FALLBACK);
  if (relayFallback && !(values.POSTHORN_DELIVERY === "direct" && values.POSTHORN_RELAY_URL)) {
    problems.push("POSTHORN_RELAY_FALLBACK: it is for direct mode, with the relay in POSTHORN_RELAY_URL");
  }
  if (!values.POSTHORN_TLS_CERT !== !values.POSTHORN_TLS_KEY) {
    problems.push("POSTHORN_TLS_CERT and POSTHORN_TLS_KEY: set both or neither");
  }
  // A listener that an operator gave this port keeps it.
  const used = [http, values.POSTHORN_SMTP, values.POSTHORN_DNS].some(({ port }) => port === defaultOpsPort);
  const ops = values.POSTHORN_OPS ?? { host: "127.0.0.1", port: used ? 0 : defaultOpsPort };
  if (!isLoopback(ops.host) && values.POSTHORN_METRICS_TOKEN === undefined) {
    problems.push(
      "POSTHORN_OPS: an address beyond loopback needs POSTHORN_METRICS_TOKEN; make one with: openssl rand -hex 24",
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
    relayFallback,
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

function readFallback(words: readonly string[]): { afterFailures: number; sites: Set<string> } | undefined {
  if (words.length === 0) return undefined;
  const numbers = words.filter((word) => /^[1-9]\d{0,3}$/.test(word)).map(Number);
  const sites = words.filter((word) => !/^\d+$/.test(word)).map((word) => word.toLowerCase());
  return { afterFailures: Math.min(Number.POSITIVE_INFINITY, ...numbers), sites: new Set(sites) };
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || (ipaddr.isValid(host) && ipaddr.process(host).range() === "loopback");
}

function closest(name: string): string {
  const words = new Set(name.split("_"));
  const score = (other: string) => other.split("_").filter((word) => words.has(word)).length;
  const best = Object.keys(settings).reduce((a, b) => (score(b) > score(a) ? b : a));
  return score(best) > 1 ? `; did you mean ${best}?` : "; remove it, or see: posthorn start --help";
}
