/** Wires the inbound role, from a connection on POSTHORN_SMTP to committed mail, bounces and complaints. Called by assemble.ts. */
import type { Resolver } from "../../dns/resolver.ts";
import { createAddressees, createPostmaster } from "../../inbound/addressees.ts";
import { createReader, type Reader } from "../../inbound/reader.ts";
import { createReceive } from "../../inbound/receive.ts";
import { createReports } from "../../inbound/reports.ts";
import { createThreads } from "../../inbound/threads.ts";
import type { Clock } from "../../ops/clock.ts";
import type { HeapRelief } from "../../ops/heap-relief.ts";
import type { Log } from "../../ops/log.ts";
import type { Metrics } from "../../ops/metrics.ts";
import type { Wake } from "../../postgres/wake.ts";
import { createInboundQuota } from "../../quotas/inbound-quota.ts";
import type { Quotas } from "../../quotas/quotas.ts";
import { createConnectionShares } from "../../shares/connections.ts";
import { partOf } from "../../shares/process-part.ts";
import { createCertificate } from "../../smtp/server/certificate.ts";
import { createMessageMemory } from "../../smtp/server/message-memory.ts";
import { createSmtpServer } from "../../smtp/server/server.ts";
import type { Config } from "../config.ts";
import type { Host } from "../host.ts";
import type { Store } from "../open-store.ts";
import { createReportReceiver } from "./reports.ts";

export type InboundDeps = {
  config: Config;
  log: Log;
  metrics: Metrics;
  heap: HeapRelief;
  clock: Clock;
  wake: Wake;
  store: Store;
  reader: Reader;
  quotas: Quotas;
  /** Runs before metrics are read. */
  beforeScrape(set: () => void): void;
  /** The first workspace, which is the operator's. */
  workspaceId: string;
  host: Host;
};

/** The threads that read inbound mail, for the inbound role and for InboundService. They start with the first message. */
export function createInboundReader(deps: { config: Config; log: Log; metrics: Metrics; resolver: Resolver }): {
  reader: Reader;
  stop(): Promise<void>;
} {
  const threads = createThreads({
    resolver: deps.resolver,
    onOverrun({ work, owner, reason }) {
      deps.metrics.inboundOverruns.inc({ work });
      deps.log.warn({ work, owner, reason }, "stopped reading a message that exceeds its limits");
    },
  });
  return { reader: createReader({ threads, hostname: deps.config.hostname }), stop: threads.stop };
}

/** Memory for messages that are being received at the same time, and how often the largest message has to fit: one network gets at most
 * half of it. */
const memoryBytes = 128 * 1024 * 1024;
const largestMessages = 3;
/** Of each process: with less, a network or workspace, which gets half, could not send a message of the largest size. */
const leastMessages = 2;
/** What each session may use without a share: almost all mail is smaller. At most 32 MiB for all sessions. */
const unsharedBytes = 32 * 1024;
const maxSessions = 1000;
const maxSessionsPerAddress = 50;
const minuteMs = 60_000;

export async function startInbound(deps: InboundDeps): Promise<{ port: number; stop(): Promise<void> }> {
  const { config, log, clock, wake, store, host } = deps;
  const { sql } = store;
  const { nowMs } = clock;
  const returnPathKeys = () => store.secrets.keys("return path v1");
  const { hostname, zone } = config;
  const postmasterOf = createPostmaster({ workspaceId: deps.workspaceId, hostname, zone });
  const onEvent = () => wake.notify("events");
  const receive = createReceive({
    sql,
    contents: store.contents,
    log,
    nowMs,
    reader: deps.reader,
    onEvent,
    mayReceive: createInboundQuota({ sql, quotas: deps.quotas }),
    receiveReport: createReportReceiver({ config, sql, log, metrics: deps.metrics, clock, onEvent }),
    findAddressee: createAddressees({ sql, zone: config.zone, returnPathKeys, postmasterOf }),
    reports: createReports({
      sql,
      log,
      nowMs,
      returnPathKeys,
      onEvent,
      onUnattributed: (kind, listed) => deps.metrics.unattributedReports.inc({ kind, listed: String(listed) }),
    }),
  });
  const memory = createMessageMemory({
    bytes: partOf(
      Math.max(memoryBytes, largestMessages * config.limits.messageBytes),
      host.part,
      leastMessages * config.limits.messageBytes,
    ),
    unsharedBytes,
    factor: 1,
    onGiveWay: () => log.info("dropped a slow message for lack of memory"),
    onRelease: deps.heap.note,
  });
  deps.beforeScrape(() => deps.metrics.inboundMessageBytes.set(memory.used()));
  const server = createSmtpServer({
    ...config.smtp,
    shared: host.listener("smtp"),
    hostname: config.hostname,
    policy: { ...receive, message: async (mail) => counted(await receive.message(mail)) },
    limits: {
      messageBytes: config.limits.messageBytes,
      recipients: 100,
      errors: 20,
      idleCommands: 100,
      messages: 1000,
      // RFC 5321 §4.5.3.2.7: five minutes for a command.
      commandMs: 5 * minuteMs,
      dataMs: 3 * minuteMs,
      dataTotalMs: 30 * minuteMs,
      minimumRate: { bytesPerSecond: 512, graceMs: minuteMs },
      messageMs: 10 * minuteMs,
      sessionMs: 60 * minuteMs,
    },
    secureContext: createCertificate({
      files: config.tls,
      hostname: config.hostname,
      nowMs,
      onProblem: (error) => log.warn({ err: error }, "the new TLS certificate cannot be used; keeping the old one"),
    }),
    memory,
    shares: createConnectionShares({
      total: partOf(maxSessions, host.part),
      factor: 3,
      perAddress: partOf(maxSessionsPerAddress, host.part),
      exempt: config.trustedProxies,
    }),
    onGiveUp: (reason) => deps.metrics.inboundGivenUp.inc({ reason }),
    onSessions: (count) => deps.metrics.inboundSessions.set(count),
    onError: (error) => log.error({ err: error }, "an SMTP session failed"),
  });
  const counted = (reply: string) => {
    const answer = { 2: "taken", 4: "deferred" }[reply[0]!] ?? "refused";
    deps.metrics.inboundMessages.inc({ answer });
    return reply;
  };
  const { port } = await server.start();
  return {
    port,
    async stop() {
      await server.stop(config.drainMs);
      await receive.idle();
    },
  };
}
