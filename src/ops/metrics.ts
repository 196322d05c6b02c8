/** The program's Prometheus metrics: one registry per program, made by assemble and handed to whoever counts. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { createTopNames } from "./top-names.ts";

export type Metrics = ReturnType<typeof createMetrics>;

/** Ends the help of figures that are read from the database. */
const shared = "Every node reports the same value: take the maximum, not the sum.";
/** Receivers with a label of their own: 40 series of each outcome, however many names mail is sent to. */
const siteLabels = { limit: 40, candidates: 2_000, everyMs: 600_000 };
export const siteOutcomes = ["accepted", "deferred", "bounced", "failed"] as const;
export type SiteOutcome = (typeof siteOutcomes)[number];

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
    help: "Attempts to deliver an event to a webhook, by what came of them: delivered, retry or gone.",
    labelNames: ["outcome"],
    registers,
  });
  const inboundMessages = new Counter({
    name: "posthorn_inbound_messages_total",
    help: "Messages brought to the SMTP server, by its answer: taken (2xx), deferred (4xx) or refused (5xx).",
    labelNames: ["answer"],
    registers,
  });
  // There from the start: a ratio of them needs all, and the first one counts as an increase.
  for (const outcome of ["delivered", "retry", "gone"]) webhookAttempts.inc({ outcome }, 0);
  for (const answer of ["taken", "deferred", "refused"]) inboundMessages.inc({ answer }, 0);
  return {
    registry,
    webhookAttempts,
    inboundMessages,
    /** All outcomes of a site appear together: a ratio of them then has a value from the first attempt on. */
    countSite(name: string, outcome: SiteOutcome, nowMs: number): void {
      const site = sites.labelOf(name, nowMs);
      for (const one of siteOutcomes) siteAttempts.inc({ site, outcome: one }, one === outcome ? 1 : 0);
    },
    ...createNodeGauges(registers),
    ...createClusterGauges(registers),
    requests: new Counter({
      name: "posthorn_requests_total",
      help: "API calls answered, by method and code (ok or a Connect error code).",
      labelNames: ["method", "code"],
      registers,
    }),
    requestSeconds: new Histogram({
      name: "posthorn_request_duration_seconds",
      help: "Time from the head of a request to the end of its answer, by method.",
      labelNames: ["method"],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers,
    }),
    refusedConnections: new Counter({
      name: "posthorn_broken_requests_total",
      help: "Requests that were no valid HTTP, or broke a limit before they reached a method.",
      labelNames: ["reason"],
      registers,
    }),
    deliveryAttempts: new Counter({
      name: "posthorn_delivery_attempts_total",
      help: "Attempts to deliver to one recipient, by what came of them: a recipient status, or released when nothing was tried.",
      labelNames: ["outcome"],
      registers,
    }),
    deliveriesInHand: new Gauge({
      name: "posthorn_delivery_in_hand_recipients",
      help: "Recipients that this node is delivering to at this moment.",
      registers,
    }),
    deliverySeconds: new Histogram({
      name: "posthorn_delivery_attempt_seconds",
      help: "Time of an attempt, from the lease to the receiver's last word: reading, composing, signing, SMTP.",
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800],
      registers,
    }),
    sourceMessages: new Counter({
      name: "posthorn_source_messages_total",
      help: "Transactions by the local address they went from: accepted for somebody, refused for all, or failed before an answer.",
      labelNames: ["address", "result"],
      registers,
    }),
    inboundSessions: new Gauge({
      name: "posthorn_inbound_sessions",
      help: "Clients connected to the SMTP server at this moment.",
      registers,
    }),
    eventStreams: new Gauge({
      name: "posthorn_event_streams",
      help: "Event streams open on this node.",
      registers,
    }),
  };
}

/** About this process and its machine; present also while the database is away. */
function createNodeGauges(registers: Registry[]) {
  return {
    buildInfo: new Gauge({
      name: "posthorn_build_info",
      help: "Always 1; the label holds the version of the program.",
      labelNames: ["version"],
      registers,
    }),
    databaseUp: new Gauge({
      name: "posthorn_database_up",
      help: "Whether PostgreSQL answered this node just now: 1 or 0.",
      registers,
    }),
    poolConnections: new Gauge({
      name: "posthorn_database_connections",
      help: "Connections of this process's pool to PostgreSQL: the limit, how many are open, and how many statements wait for one.",
      labelNames: ["state"],
      registers,
    }),
    diskFree: new Gauge({
      name: "posthorn_data_directory_free_bytes",
      help: "Free space for Posthorn on the file system that holds the data directory.",
      registers,
    }),
    diskSize: new Gauge({
      name: "posthorn_data_directory_size_bytes",
      help: "Size of the file system that holds the data directory.",
      registers,
    }),
    certificateExpiry: new Gauge({
      name: "posthorn_tls_certificate_expiry_timestamp_seconds",
      help: "When the certificate in POSTHORN_TLS_CERT expires, in Unix time; 0 when the certificate and its key cannot be used, absent when it is not set.",
      registers,
    }),
  };
}

/** About all nodes together, read from the database at each scrape; absent while it is away or has not answered for minutes. */
function createClusterGauges(registers: Registry[]) {
  return {
    queueDepth: new Gauge({
      name: "posthorn_queue_recipients",
      help: `Recipients not yet settled: due now, later, or leased by a worker. ${shared}`,
      labelNames: ["state"],
      registers,
    }),
    oldestDue: new Gauge({
      name: "posthorn_queue_oldest_due_seconds",
      help: `How long the oldest waiting recipient has been due; 0 while none waits. Paused destinations and sites that are backing off do not count. ${shared}`,
      registers,
    }),
    oldestBackingOff: new Gauge({
      name: "posthorn_queue_oldest_backing_off_seconds",
      help: `How long the oldest recipient has been due at a receiver that does not answer; 0 while none waits. ${shared}`,
      registers,
    }),
    roleNodes: new Gauge({
      name: "posthorn_role_nodes",
      help: `Running nodes that have each role, by their heartbeats. ${shared}`,
      labelNames: ["role"],
      registers,
    }),
  };
}
