/** The program's Prometheus metrics: one registry per program, made by assemble and handed to whoever counts. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: "posthorn_" });
  const registers = [registry];
  return {
    registry,
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
    queueDepth: new Gauge({
      name: "posthorn_queue_recipients",
      help: "Recipients not yet settled: due now, later, or leased by a worker.",
      labelNames: ["state"],
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
    webhookAttempts: new Counter({
      name: "posthorn_webhook_attempts_total",
      help: "Attempts to deliver an event to a webhook, by what came of them: delivered, retry or gone.",
      labelNames: ["outcome"],
      registers,
    }),
    inboundMessages: new Counter({
      name: "posthorn_inbound_messages_total",
      help: "Messages brought to the SMTP server, by its answer: taken (2xx), deferred (4xx) or refused (5xx).",
      labelNames: ["answer"],
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
    poolConnections: new Gauge({
      name: "posthorn_database_connections",
      help: "Connections of this process's pool to PostgreSQL: the limit, and how many are open.",
      labelNames: ["state"],
      registers,
    }),
  };
}
