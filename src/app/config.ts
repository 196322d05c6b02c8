/** Reads the settings (settings.ts) from the environment and flags into the Config that the program and every command use. All mistakes
 * are reported together, each with its fix. */
import { getFips } from "node:crypto";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import ipaddr from "ipaddr.js";
import { defaultPrimes, type PrimeCount } from "../mail/rsa-key.ts";
import type { ProviderSettings } from "../people/rules/provider.ts";
import type { QuotaDefaults } from "../quotas/rules/limits.ts";
import { InvalidSetting, quote, type Shape } from "./config-shapes.ts";
import { isOidcSetting, readProviders } from "./oidc-settings.ts";
import { type NodeRole, roles, settings } from "./settings.ts";

type Settings = typeof settings;
type Value<K extends keyof Settings> =
  | ReturnType<Settings[K]["shape"]>
  | (Settings[K] extends { value: string } ? never : undefined);
type Values = { [K in keyof Settings]: Value<K> };

export type Config = ReturnType<typeof shapeConfig> & { providers: ProviderSettings[] };

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
    if (name.startsWith("POSTHORN_") && !(name in settings) && !clientSettings.has(name) && !isOidcSetting(name)) {
      problems.push(`${name} is not a Posthorn setting${closest(name)}`);
    }
  }
  const names = values.POSTHORN_OIDC as string[] | undefined;
  const providers = names ? readProviders(env, names, problems) : [];
  const config = problems.length === 0 ? { ...shapeConfig(values as Values, problems), providers } : undefined;
  if (!config || problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** Read from the same environment by commands that act as API clients, and by tests. */
const clientSettings = new Set(["POSTHORN_URL", "POSTHORN_KEY", "POSTHORN_PROFILE"]);

/** Not the ports of RFC 8314, which need privileges. */
const defaultSubmissionPorts = { starttls: 2587, tls: 2465 };

/** A listen address; `chosen` by the operator, not the default. Null: off. */
export type Listener = { host: string; port: number; chosen: boolean } | null;

function listener(value: { host: string; port: number } | null | undefined, defaultPort: number): Listener {
  if (value === undefined) return { host: "127.0.0.1", port: defaultPort, chosen: false };
  return value && { ...value, chosen: true };
}

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
  if (values.POSTHORN_SECRET_PREVIOUS !== undefined && values.POSTHORN_SECRET === undefined)
    problems.push("POSTHORN_SECRET_PREVIOUS: set POSTHORN_SECRET too, or neither");
  if (values.POSTHORN_PASSWORD_SIGN_IN === "off" && values.POSTHORN_OIDC.length === 0) {
    problems.push("POSTHORN_PASSWORD_SIGN_IN: off needs a provider in POSTHORN_OIDC, or people could not sign in");
  }
  if (values.POSTHORN_DANE_RESOLVER?.length === 0) problems.push("POSTHORN_DANE_RESOLVER: names no resolver");
  // If the operator gave this port to another listener, the operations port moves to a free one.
  const used = [http, values.POSTHORN_SMTP, values.POSTHORN_DNS].some(({ port }) => port === defaultOpsPort);
  const ops = values.POSTHORN_OPS ?? { host: "127.0.0.1", port: used ? 0 : defaultOpsPort };
  if (!isLoopbackHost(ops.host) && values.POSTHORN_METRICS_TOKEN === undefined) {
    problems.push(
      "POSTHORN_OPS: an address outside loopback needs POSTHORN_METRICS_TOKEN; generate one with: openssl rand -hex 24",
    );
  }
  return {
    databaseUrl: values.DATABASE_URL,
    content: contentOf(values, problems),
    databasePool: values.POSTHORN_DATABASE_POOL,
    dataDir: resolve(values.POSTHORN_DATA_DIR),
    roles: new Set(chosen as NodeRole[]),
    processes: values.POSTHORN_PROCESSES === "auto" ? availableParallelism() : values.POSTHORN_PROCESSES,
    http,
    smtp: values.POSTHORN_SMTP,
    submission: listener(values.POSTHORN_SUBMISSION, defaultSubmissionPorts.starttls),
    submissions: listener(values.POSTHORN_SUBMISSIONS, defaultSubmissionPorts.tls),
    dns: values.POSTHORN_DNS,
    ops: { ...ops, chosen: values.POSTHORN_OPS !== undefined },
    onLoopback: isLoopbackHost(http.host),
    publicUrl: values.POSTHORN_PUBLIC_URL,
    zone: values.POSTHORN_ZONE,
    hostname: values.POSTHORN_HOSTNAME ?? `mail.${values.POSTHORN_ZONE}`,
    publicIps: values.POSTHORN_PUBLIC_IPS,
    apiKey: values.POSTHORN_API_KEY,
    secret: values.POSTHORN_SECRET,
    secretPrevious: values.POSTHORN_SECRET_PREVIOUS,
    trustedProxies: values.POSTHORN_TRUSTED_PROXIES,
    corsOrigins: values.POSTHORN_CORS_ORIGINS,
    resolvers: values.POSTHORN_RESOLVERS,
    daneResolvers: values.POSTHORN_DANE_RESOLVER,
    delivery: values.POSTHORN_DELIVERY,
    relayUrl: values.POSTHORN_RELAY_URL,
    siteLimits: values.POSTHORN_SITE_LIMITS,
    deliverySockets: values.POSTHORN_DELIVERY_SOCKETS,
    sources: values.POSTHORN_SOURCE_IPS,
    relayFallback: fallback,
    mtaStsPort: values.POSTHORN_MTA_STS_PORT,
    mxPort: values.POSTHORN_MX_PORT,
    nameServerPort: values.POSTHORN_NS_PORT,
    allowPrivateMx: values.POSTHORN_ALLOW_PRIVATE_MX,
    allowPrivateWebhooks: values.POSTHORN_ALLOW_PRIVATE_WEBHOOKS,
    dkimPrimes: primesOf(values.POSTHORN_DKIM_PRIMES, problems),
    blocklists: values.POSTHORN_BLOCKLISTS,
    spamFilter: values.POSTHORN_SPAM_CHECK,
    region: values.POSTHORN_REGION,
    signup: values.POSTHORN_SIGNUP,
    requireSecondFactor: values.POSTHORN_REQUIRE_SECOND_FACTOR === "true",
    passwordSignIn: values.POSTHORN_PASSWORD_SIGN_IN === "on",
    systemFrom: values.POSTHORN_SYSTEM_FROM,
    tls:
      values.POSTHORN_TLS_CERT && values.POSTHORN_TLS_KEY
        ? { certFile: values.POSTHORN_TLS_CERT, keyFile: values.POSTHORN_TLS_KEY }
        : undefined,
    retry: {
      scheduleMs: values.POSTHORN_RETRY_SCHEDULE_MS,
      doubtScheduleMs: values.POSTHORN_DOUBT_SCHEDULE_MS,
      forMs: values.POSTHORN_RETRY_FOR_MS,
    },
    webhooks: {
      scheduleMs: values.POSTHORN_WEBHOOK_SCHEDULE_MS,
      timeoutMs: values.POSTHORN_WEBHOOK_TIMEOUT_MS,
      disableAfterMs: values.POSTHORN_WEBHOOK_DISABLE_AFTER_MS,
    },
    stream: { heartbeatMs: values.POSTHORN_STREAM_HEARTBEAT_MS, stallMs: values.POSTHORN_STREAM_STALL_MS },
    verifyIntervalMs: values.POSTHORN_VERIFY_INTERVAL_MS,
    contentDays: values.POSTHORN_CONTENT_DAYS,
    historyDays: values.POSTHORN_HISTORY_DAYS,
    reportDays: values.POSTHORN_REPORT_DAYS,
    rate: { perSecond: values.POSTHORN_RATE_PER_SECOND, burst: values.POSTHORN_RATE_BURST },
    limits: {
      bodyBytes: values.POSTHORN_MAX_BODY_BYTES,
      recipients: values.POSTHORN_MAX_RECIPIENTS,
      messageBytes: values.POSTHORN_MAX_MESSAGE_BYTES,
      attachments: values.POSTHORN_MAX_ATTACHMENTS,
    },
    quotas: quotasOf(values),
    mostOwned: { established: values.POSTHORN_QUOTA_WORKSPACES, fromSignUp: values.POSTHORN_QUOTA_NEW_WORKSPACES },
    abuseBrake: values.POSTHORN_ABUSE_BRAKE,
    drainMs: values.POSTHORN_DRAIN_MS,
    metricsToken: values.POSTHORN_METRICS_TOKEN,
    logLevel: values.POSTHORN_LOG_LEVEL,
    logFormat: values.POSTHORN_LOG_FORMAT,
  };
}

/** FIPS 186 allows two primes, and OpenSSL's FIPS provider has no code for more. */
export function primesOf(chosen: "2" | "3" | undefined, problems: string[], fips = getFips() === 1): PrimeCount {
  if (chosen === "3" && fips)
    problems.push("POSTHORN_DKIM_PRIMES: OpenSSL runs in FIPS mode, which allows only 2; set it to 2 or remove it");
  return chosen === undefined ? defaultPrimes({ arch: process.arch, fips }) : chosen === "3" ? 3 : 2;
}

function contentOf(values: Values, problems: string[]) {
  const address = values.POSTHORN_CONTENT_URL;
  if (!address) return undefined;
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = values;
  if (accessKeyId === undefined || secretAccessKey === undefined)
    problems.push("POSTHORN_CONTENT_URL: needs its credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
  const sessionToken = values.AWS_SESSION_TOKEN;
  const credentials = { accessKeyId: accessKeyId ?? "", secretAccessKey: secretAccessKey ?? "", sessionToken };
  return { address, credentials, aboveBytes: values.POSTHORN_CONTENT_OBJECT_BYTES };
}

function quotasOf(values: Values): QuotaDefaults {
  return {
    established: {
      emailsPerHour: values.POSTHORN_QUOTA_EMAILS_PER_HOUR,
      emailsPerDay: values.POSTHORN_QUOTA_EMAILS_PER_DAY,
      storedBytes: values.POSTHORN_QUOTA_STORED_BYTES,
      inboundPerHour: values.POSTHORN_QUOTA_INBOUND_PER_HOUR,
      domains: values.POSTHORN_QUOTA_DOMAINS,
      keys: values.POSTHORN_QUOTA_KEYS,
      webhooks: values.POSTHORN_QUOTA_WEBHOOKS,
      members: values.POSTHORN_QUOTA_MEMBERS,
      streams: values.POSTHORN_QUOTA_STREAMS,
    },
    fromSignUp: {
      emailsPerHour: values.POSTHORN_QUOTA_NEW_EMAILS_PER_HOUR,
      emailsPerDay: values.POSTHORN_QUOTA_NEW_EMAILS_PER_DAY,
      storedBytes: values.POSTHORN_QUOTA_NEW_STORED_BYTES,
      inboundPerHour: values.POSTHORN_QUOTA_NEW_INBOUND_PER_HOUR,
      domains: values.POSTHORN_QUOTA_NEW_DOMAINS,
      keys: values.POSTHORN_QUOTA_NEW_KEYS,
      webhooks: values.POSTHORN_QUOTA_NEW_WEBHOOKS,
      members: values.POSTHORN_QUOTA_NEW_MEMBERS,
      streams: values.POSTHORN_QUOTA_NEW_STREAMS,
    },
  };
}

export function isLoopbackHost(host: string): boolean {
  return host === "localhost" || (ipaddr.isValid(host) && ipaddr.process(host).range() === "loopback");
}

/** The known setting that shares most words with a mistyped one, as a hint. */
function closest(name: string): string {
  const words = new Set(name.split("_"));
  const score = (other: string) => other.split("_").filter((word) => words.has(word)).length;
  const best = Object.keys(settings).reduce((a, b) => (score(b) > score(a) ? b : a));
  return score(best) > 1 ? `; did you mean ${best}?` : "; remove it, or see: posthorn start --help";
}

/** The URL of this service in links: POSTHORN_PUBLIC_URL, or the HTTP listener. Never taken from a request, which could forge it. */
export function baseUrl(config: Pick<Config, "http" | "publicUrl">, port: number): string {
  const host = config.http.host.includes(":") ? `[${config.http.host}]` : config.http.host;
  return config.publicUrl ?? `http://${host}:${port}`;
}
