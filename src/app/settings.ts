/** The table of all settings, with type, default and help. --help, completions and deploy/.env.example are made from it; config.ts reads it. */
import {
  baseUrl,
  blocklists,
  choice,
  cidrList,
  commaList,
  contentUrl,
  databaseUrl,
  hostName,
  ipList,
  listen,
  listenList,
  listenOrOff,
  matching,
  millisList,
  relayFallback,
  type Shape,
  sender,
  siteLimits,
  sources,
  spamFilter,
  text,
  url,
  whole,
  wholeOrAuto,
} from "./config-shapes.ts";
import { oidcNames } from "./oidc-settings.ts";
import { quotaSettings } from "./quota-settings.ts";

export const roles = ["api", "delivery", "inbound", "dns", "webhooks", "housekeeping"] as const;
export type NodeRole = (typeof roles)[number];

/** Each setting with its type, default and help. `posthorn start --help` prints this table. */
export const settings = {
  DATABASE_URL: {
    shape: databaseUrl,
    help: "URL of an external PostgreSQL (15 or newer). It may name several hosts (db1:5432,db2:5432), of which Posthorn uses the primary. Unset: Posthorn runs its own in the data directory.",
  },
  POSTHORN_CONTENT_URL: {
    shape: contentUrl,
    help: "Object storage for large content: s3://bucket/prefix?endpoint=https://…&region=…, with style=virtual if the bucket is part of the host name. Unset: all content is in the database.",
  },
  POSTHORN_CONTENT_OBJECT_BYTES: {
    shape: whole(65_536, 1_073_741_824),
    value: "65536",
    help: "Parts of emails and received messages with more bytes than this go to the object storage.",
  },
  AWS_ACCESS_KEY_ID: { shape: text, help: "Access key of the object storage in POSTHORN_CONTENT_URL." },
  AWS_SECRET_ACCESS_KEY: { shape: text, help: "Secret key of the object storage in POSTHORN_CONTENT_URL." },
  AWS_SESSION_TOKEN: { shape: text, help: "Session token of temporary credentials for POSTHORN_CONTENT_URL." },
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
  POSTHORN_PROCESSES: {
    shape: wholeOrAuto(1, 64),
    value: "1",
    help: "How many processes share the work on this machine under one supervisor: a number, or auto for one per core.",
  },
  POSTHORN_HTTP: {
    shape: listen,
    value: "127.0.0.1:8825",
    help: "Listen address of the API and the dashboard. Port 0 picks a free one.",
  },
  POSTHORN_SMTP: { shape: listen, value: "127.0.0.1:2525", help: "Listen address for inbound mail." },
  POSTHORN_SUBMISSION: {
    shape: listenOrOff,
    help: "Listen address for mail that programs send over SMTP with STARTTLS, or off. Default: 127.0.0.1:2587, or a free port if that one is taken.",
  },
  POSTHORN_SUBMISSIONS: {
    shape: listenOrOff,
    help: "Listen address for mail that programs send over SMTP with TLS from the start, or off. Default: 127.0.0.1:2465, or a free port if that one is taken.",
  },
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
    shape: baseUrl("http:", "https:"),
    help: "URL of this service for people and programs. Default: the HTTP listener. One-click unsubscribe needs https.",
  },
  POSTHORN_HOSTNAME: {
    shape: hostName,
    help: "Host name in HELO; its PTR and A records should match. Default: mail. under the zone.",
  },
  POSTHORN_PUBLIC_IPS: {
    shape: ipList,
    value: "",
    help: "Addresses that send and receive mail, for SPF and host records; comma list.",
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
  POSTHORN_SECRET_PREVIOUS: {
    shape: matching(/^.{32,}$/s, "must have at least 32 characters: set it to the earlier POSTHORN_SECRET"),
    help: 'The secret before POSTHORN_SECRET, while it is being replaced: docs/operate.md, "Replacing the secret".',
  },
  POSTHORN_TRUSTED_PROXIES: {
    shape: cidrList,
    value: "",
    help: "Proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted, and whose connections have no limit of their own; comma list of CIDR ranges.",
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
  POSTHORN_DANE_RESOLVER: {
    shape: listenList,
    help: "Resolvers that validate DNSSEC, host:port list; turns DANE on for direct delivery. Their answers are trusted: use loopback or your own network. Default: DANE is off.",
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
    help: "Local addresses to send mail from, each with an optional HELO name and weight: 203.0.113.5=mx1.example.com*3,203.0.113.6. Default: the system's choice.",
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
  POSTHORN_DELIVERY_SOCKETS: {
    shape: whole(100, 100_000),
    value: "4000",
    help: "Recipients in delivery at once on this node, each with at most one connection. At most a quarter of the open files that the system allows.",
  },
  POSTHORN_MX_PORT: { shape: whole(1, 65535), value: "25", help: "The port of recipients' mail servers." },
  POSTHORN_NS_PORT: { shape: whole(1, 65535), value: "53", help: "The port of customers' own DNS servers." },
  POSTHORN_ALLOW_PRIVATE_MX: {
    shape: cidrList,
    value: "",
    help: "Private ranges that mail and DNS queries may be sent to, comma list of CIDR ranges.",
  },
  POSTHORN_ALLOW_PRIVATE_WEBHOOKS: {
    shape: cidrList,
    value: "",
    help: "Private ranges that webhooks may be posted to, also over http; comma list of CIDR ranges.",
  },
  POSTHORN_DKIM_PRIMES: {
    shape: choice("2", "3"),
    help: "How many primes new DKIM keys have: 2, which FIPS and other programs need, or 3, which may sign faster. Default: 3 on arm64, else 2, and always 2 in FIPS mode.",
  },
  POSTHORN_BLOCKLISTS: {
    shape: blocklists,
    value: "zen.spamhaus.org,b.barracudacentral.org,bl.spamcop.net,domain:dbl.spamhaus.org",
    help: "DNS blocklists that a deliverability check asks about the sending addresses, and with domain: about the domain; comma list, or off. Lists refuse public resolvers.",
  },
  POSTHORN_SPAM_CHECK: {
    shape: spamFilter,
    help: "Spam filter that a deliverability check asks for its score of the sample: rspamd:http://127.0.0.1:11333 or spamd:127.0.0.1:783.",
  },
  POSTHORN_REGION: { shape: text, value: "local", help: "The region name shown on domains." },
  POSTHORN_SIGNUP: {
    shape: choice("first", "open", "closed"),
    value: "first",
    help: "Who may sign up in the dashboard without an invitation: the first person only (first), everyone who confirms an address by mail (open), or no one (closed).",
  },
  POSTHORN_REQUIRE_SECOND_FACTOR: {
    shape: choice("true", "false"),
    value: "false",
    help: "Whether every person needs a second factor to use a workspace. Owners can require it for their workspace.",
  },
  POSTHORN_OIDC: {
    shape: oidcNames,
    value: "",
    help: "Names of the OpenID Connect providers that people may sign in with; comma list. Each has settings of its own: POSTHORN_OIDC_<NAME>_ISSUER and others.",
  },
  POSTHORN_PASSWORD_SIGN_IN: {
    shape: choice("on", "off"),
    value: "on",
    help: "off: people cannot sign in or sign up with a password, or set one. Needs a provider in POSTHORN_OIDC.",
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
  POSTHORN_DOUBT_SCHEDULE_MS: {
    shape: millisList,
    value: "300000,3600000,86400000",
    help: "Waits after attempts that the receiver may have accepted without confirming it; the last one repeats. A repeat may be a second copy.",
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
    help: "Days to keep message content after its last day of use.",
  },
  POSTHORN_HISTORY_DAYS: {
    shape: whole(1, 3650),
    value: "90",
    help: "Days to keep finished emails, recipients and events.",
  },
  POSTHORN_REPORT_DAYS: {
    shape: whole(31, 3650),
    value: "400",
    help: "Days to keep DMARC and TLS reports and their counts.",
  },
  POSTHORN_RATE_PER_SECOND: { shape: whole(1, 1_000_000), value: "5000", help: "Requests per second per workspace." },
  POSTHORN_RATE_BURST: {
    shape: whole(1, 10_000_000),
    value: "10000",
    help: "Requests that a workspace may make in a burst.",
  },
  POSTHORN_MAX_BODY_BYTES: {
    shape: whole(1024, 256 * 1024 * 1024),
    value: String(64 * 1024 * 1024),
    help: "Largest request body.",
  },
  POSTHORN_MAX_RECIPIENTS: {
    shape: whole(1, 1000),
    value: "50",
    help: "Maximum number of recipients of one email: to, cc and bcc together.",
  },
  POSTHORN_MAX_MESSAGE_BYTES: {
    shape: whole(1024, 100 * 1024 * 1024),
    value: String(40 * 1024 * 1024),
    help: "Largest composed message.",
  },
  POSTHORN_MAX_ATTACHMENTS: {
    shape: whole(0, 1000),
    value: "100",
    help: "Maximum number of attachments of one email.",
  },
  POSTHORN_DATABASE_POOL: {
    shape: whole(2, 200),
    value: "10",
    help: "PostgreSQL connections of each process; wake-ups use one more.",
  },
  POSTHORN_DRAIN_MS: {
    shape: whole(0, 600_000),
    value: "10000",
    help: "How long a stopping process waits for work in progress.",
  },
  ...quotaSettings,
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
