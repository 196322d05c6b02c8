/** The program's Prometheus metrics. The wiring in app/ creates one registry per process and passes it to each part that counts. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { createTopNames } from "./top-names.ts";

export type Metrics = ReturnType<typeof createMetrics>;

/** Appended to the help of metrics that come from the database. */
const sameOnEveryNode = "Every node reports the same value: take the maximum, not the sum.";
/** Receivers with their own label: 40 series per outcome, however many receivers get mail. */
const siteLabels = { limit: 40, candidates: 2_000, everyMs: 600_000 };
export const siteOutcomes = ["accepted", "deferred", "bounced", "failed"] as const;
export type SiteOutcome = (typeof siteOutcomes)[number];

export const signInRefusalReasons = [
  "account_disabled",
  "wrong_password",
  "wrong_code",
  "reused_code",
  "wrong_passkey",
  "reused_passkey",
  "too_many_tries",
] as const;

export function createMetrics() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: "posthorn_" });
  const registers = [registry];
  const siteAttempts = new Counter({
    name: "posthorn_delivery_site_attempts_total",
    help: `Attempts to deliver to one recipient, by the receiver's MX site and by outcome. The ${siteLabels.limit} busiest sites have a label, the rest are "other".`,
    labelNames: ["site", "outcome"],
    registers,
  });
  const sites = createTopNames({
    ...siteLabels,
    onDropped(site) {
      for (const outcome of siteOutcomes) siteAttempts.remove({ site, outcome });
    },
  });
  const webhookAttempts = new Counter({
    name: "posthorn_webhook_attempts_total",
    help: "Attempts to deliver an event to a webhook, by outcome: delivered, retry or gone.",
    labelNames: ["outcome"],
    registers,
  });
  const inboundMessages = new Counter({
    name: "posthorn_inbound_messages_total",
    help: "Messages submitted to the SMTP server, by its answer: taken (2xx), deferred (4xx) or refused (5xx).",
    labelNames: ["answer"],
    registers,
  });
  const reports = new Counter({
    name: "posthorn_reports_total",
    help: "DMARC and TLS reports about domains, by kind, by how they arrived, and by what became of them.",
    labelNames: ["kind", "via", "outcome"],
    registers,
  });
  const submissionMessages = new Counter({
    name: "posthorn_submission_messages_total",
    help: "Messages that programs submitted over SMTP, by the answer: taken (2xx), deferred (4xx) or refused (5xx).",
    labelNames: ["answer"],
    registers,
  });
  const unattributedReports = new Counter({
    name: "posthorn_unattributed_reports_total",
    help: "Bounces and complaints that changed nothing because no recipient could be found: listed for a workspace, or only counted.",
    labelNames: ["kind", "listed"],
    registers,
  });
  const signInRefusals = new Counter({
    name: "posthorn_sign_in_refusals_total",
    help: "Refused sign-ins and confirmations of people, by reason: a wrong password, a wrong or reused code or passkey, or too many tries.",
    labelNames: ["reason"],
    registers,
  });
  // Start every series at 0: a ratio needs all of them, and rate() sees the first event only as an increase from 0.
  for (const outcome of ["delivered", "retry", "gone"]) webhookAttempts.inc({ outcome }, 0);
  for (const counter of [inboundMessages, submissionMessages])
    for (const answer of ["taken", "deferred", "refused"]) counter.inc({ answer }, 0);
  for (const reason of signInRefusalReasons) signInRefusals.inc({ reason }, 0);
  for (const [kind, via] of [
    ["dmarc", "mail"],
    ["tls", "mail"],
    ["tls", "https"],
  ] as const)
    reports.inc({ kind, via, outcome: "stored" }, 0);
  for (const kind of ["bounce", "complaint"])
    for (const listed of ["true", "false"]) unattributedReports.inc({ kind, listed }, 0);
  return {
    registry,
    webhookAttempts,
    inboundMessages,
    reports,
    submissionMessages,
    unattributedReports,
    signInRefusals,
    /** Creates the series of all outcomes together, so that a ratio of them has a value from the first attempt on. */
    countSite(name: string, outcome: SiteOutcome, nowMs: number): void {
      const site = sites.labelOf(name, nowMs);
      for (const one of siteOutcomes) siteAttempts.inc({ site, outcome: one }, one === outcome ? 1 : 0);
    },
    ...createNodeGauges(registers),
    ...createClusterGauges(registers),
    requests: new Counter({
      name: "posthorn_requests_total",
      help: "Answered API calls, by method and code (ok or a Connect error code).",
      labelNames: ["method", "code"],
      registers,
    }),
    requestSeconds: new Histogram({
      name: "posthorn_request_duration_seconds",
      help: "Time from the end of the request headers to the end of the response, by method.",
      labelNames: ["method"],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers,
    }),
    brokenRequests: new Counter({
      name: "posthorn_broken_requests_total",
      help: "Requests that were not valid HTTP, or exceeded a limit before they reached a method.",
      labelNames: ["reason"],
      registers,
    }),
    slowedRefusals: new Counter({
      name: "posthorn_slowed_refusals_total",
      help: "Refused calls that were answered after a pause, because their workspace or network was refused very often.",
      registers,
    }),
    deliveryAttempts: new Counter({
      name: "posthorn_delivery_attempts_total",
      help: "Attempts to deliver to one recipient, by outcome: a recipient status, or released when no delivery was attempted.",
      labelNames: ["outcome"],
      registers,
    }),
    deliveriesInHand: new Gauge({
      name: "posthorn_delivery_in_hand_recipients",
      help: "Recipients that this node is currently delivering to.",
      registers,
    }),
    deliveriesByState: new Gauge({
      name: "posthorn_delivery_recipients",
      help: "Recipients that this node delivers to: working, waiting for an answer of the receiver, and (of both) at hesitant sites, which have not answered yet or have stopped answering.",
      labelNames: ["state"],
      registers,
    }),
    deliverySockets: new Gauge({
      name: "posthorn_delivery_sockets_limit",
      help: "Most recipients in delivery at once on this node. Hesitant sites get at most half.",
      registers,
    }),
    siteWaiting: new Gauge({
      name: "posthorn_delivery_site_waiting_attempts",
      help: "Attempts of this node that wait for an answer, for the 20 sites with the longest wait.",
      labelNames: ["site"],
      registers,
    }),
    deliverySeconds: new Histogram({
      name: "posthorn_delivery_attempt_seconds",
      help: "Duration of an attempt, from the lease to the receiver's last reply: reading, composing, signing, SMTP.",
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800],
      registers,
    }),
    sourceMessages: new Counter({
      name: "posthorn_source_messages_total",
      help: "SMTP transactions by local source address: accepted for at least one recipient, refused for all, or failed before a reply.",
      labelNames: ["address", "result"],
      registers,
    }),
    inboundOverruns: new Counter({
      name: "posthorn_inbound_overruns_total",
      help: "Inbound messages that used up the time or memory for reading them, by the work: digest, verify, texts, attachment or decode.",
      labelNames: ["work"],
      registers,
    }),
    inboundGivenUp: new Counter({
      name: "posthorn_inbound_sessions_given_up_total",
      help: "SMTP sessions that the server refused or ended to protect others, by reason: connections, memory, slow or idle.",
      labelNames: ["reason"],
      registers,
    }),
    inboundSessions: new Gauge({
      name: "posthorn_inbound_sessions",
      help: "Clients currently connected to the SMTP server.",
      registers,
    }),
    inboundMessageBytes: new Gauge({
      name: "posthorn_inbound_message_bytes",
      help: "Memory of messages that are being received, beyond the first 32 KiB of each.",
      registers,
    }),
    submissionLogins: new Counter({
      name: "posthorn_submission_refused_logins_total",
      help: "Logins of SMTP clients that were refused: a wrong user name or key, or too many attempts.",
      registers,
    }),
    submissionGivenUp: new Counter({
      name: "posthorn_submission_sessions_given_up_total",
      help: "Sessions of SMTP clients that the server refused or ended to protect others, by reason: connections, memory, slow or idle.",
      labelNames: ["reason"],
      registers,
    }),
    submissionSessions: new Gauge({
      name: "posthorn_submission_sessions",
      help: "Clients currently connected to the ports for submission.",
      registers,
    }),
    submissionMessageBytes: new Gauge({
      name: "posthorn_submission_message_bytes",
      help: "Memory of submitted messages that are being received, beyond the first 32 KiB of each.",
      registers,
    }),
    eventPages: new Counter({
      name: "posthorn_event_pages_total",
      help: "Pages of the event log that streams have sent: encoded for this stream, or shared with another stream that sent the same page.",
      labelNames: ["how"],
      registers,
    }),
    eventStreams: new Gauge({
      name: "posthorn_event_streams",
      help: "Event streams open on this node.",
      registers,
    }),
    oidcSignIns: new Counter({
      name: "posthorn_oidc_sign_ins_total",
      help: "Answers of OpenID Connect providers, by result: ok, or the reason of the refusal.",
      labelNames: ["result"],
      registers,
    }),
    httpInUse: new Gauge({
      name: "posthorn_http_in_use",
      help: "What requests to the API port use: connections, calls in progress, bytes of large request bodies and of large answers.",
      labelNames: ["resource"],
      registers,
    }),
  };
}

/** Gauges of this process and its machine. They have values even while the database is unreachable. */
function createNodeGauges(registers: Registry[]) {
  return {
    buildInfo: new Gauge({
      name: "posthorn_build_info",
      help: "Always 1. The label holds the version of the program.",
      labelNames: ["version"],
      aggregator: "first",
      registers,
    }),
    databaseUp: new Gauge({
      name: "posthorn_database_up",
      help: "1 if PostgreSQL answered this node at the last scrape, otherwise 0.",
      aggregator: "min",
      registers,
    }),
    databaseProblem: new Gauge({
      name: "posthorn_database_problem",
      help: "1 while the database cannot serve this node for this reason, such as a full disk, otherwise 0.",
      labelNames: ["reason"],
      aggregator: "max",
      registers,
    }),
    objectStorageProblem: new Gauge({
      name: "posthorn_object_storage_problem",
      help: "1 while the object storage for large content cannot serve this node for this reason, otherwise 0.",
      labelNames: ["reason"],
      registers,
    }),
    objectStorageFailures: new Counter({
      name: "posthorn_object_storage_failures_total",
      help: "Requests of this node to the object storage that failed, by reason.",
      labelNames: ["reason"],
      registers,
    }),
    databaseFailures: new Counter({
      name: "posthorn_database_failures_total",
      help: "Statements of this node that failed because of the database, by reason.",
      labelNames: ["reason"],
      registers,
    }),
    databaseSwitches: new Counter({
      name: "posthorn_database_switches_total",
      help: "How often this node has changed to another primary of DATABASE_URL.",
      registers,
    }),
    poolConnections: new Gauge({
      name: "posthorn_database_connections",
      help: "This process's PostgreSQL pool: the limit, the open connections, and the statements that wait for one.",
      labelNames: ["state"],
      registers,
    }),
    diskFree: new Gauge({
      name: "posthorn_data_directory_free_bytes",
      help: "Free space for Posthorn on the file system that holds the data directory.",
      aggregator: "min",
      registers,
    }),
    diskSize: new Gauge({
      name: "posthorn_data_directory_size_bytes",
      help: "Size of the file system that holds the data directory.",
      aggregator: "max",
      registers,
    }),
    certificateExpiry: new Gauge({
      name: "posthorn_tls_certificate_expiry_timestamp_seconds",
      help: "Unix time at which the certificate in POSTHORN_TLS_CERT expires; 0 if the certificate or its key is unusable, absent if it is not set.",
      aggregator: "min",
      registers,
    }),
  };
}

/** Gauges of all nodes together, read from the database at each scrape. Absent while it is unreachable or silent for minutes. */
function createClusterGauges(registers: Registry[]) {
  return {
    queueDepth: new Gauge({
      name: "posthorn_queue_recipients",
      help: `Recipients not yet settled: due now, due later, or leased by a worker. ${sameOnEveryNode}`,
      labelNames: ["state"],
      aggregator: "max",
      registers,
    }),
    oldestDue: new Gauge({
      name: "posthorn_queue_oldest_due_seconds",
      help: `How long the oldest waiting recipient has been due; 0 if none waits. Paused destinations and sites that are backing off do not count. ${sameOnEveryNode}`,
      aggregator: "max",
      registers,
    }),
    oldestBackingOff: new Gauge({
      name: "posthorn_queue_oldest_backing_off_seconds",
      help: `How long the oldest recipient has been due at a receiver that does not answer; 0 if none waits. ${sameOnEveryNode}`,
      aggregator: "max",
      registers,
    }),
    roleNodes: new Gauge({
      name: "posthorn_role_nodes",
      help: `Running nodes per role, by their heartbeats. ${sameOnEveryNode}`,
      labelNames: ["role"],
      aggregator: "max",
      registers,
    }),
  };
}
