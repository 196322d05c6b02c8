/** Wires the inbound role, from a connection on POSTHORN_SMTP to committed mail, bounces and complaints. Called by assemble.ts. */
import type { Resolver } from "../../dns/resolver.ts";
import { createAddressees } from "../../inbound/addressees.ts";
import { createParser } from "../../inbound/parser.ts";
import { createReceive } from "../../inbound/receive.ts";
import { createReports } from "../../inbound/reports.ts";
import { createVerdicts } from "../../inbound/verdicts.ts";
import type { Clock } from "../../ops/clock.ts";
import type { Log } from "../../ops/log.ts";
import type { Metrics } from "../../ops/metrics.ts";
import type { Wake } from "../../postgres/wake.ts";
import { createBudget } from "../../shares/budget.ts";
import { createCertificate } from "../../smtp/server/certificate.ts";
import { createSmtpServer } from "../../smtp/server/server.ts";
import type { Config } from "../config.ts";
import type { Store } from "../open-store.ts";

export type InboundDeps = {
  config: Config;
  log: Log;
  metrics: Metrics;
  clock: Clock;
  wake: Wake;
  store: Store;
  resolver: Resolver;
};

/** Memory for messages that are being received at the same time. */
const memoryBytes = 128 * 1024 * 1024;
const minuteMs = 60_000;

export async function startInbound(deps: InboundDeps): Promise<{ port: number; stop(): Promise<void> }> {
  const { config, log, clock, wake, store } = deps;
  const { sql } = store;
  const { nowMs } = clock;
  const returnPathKey = store.secrets.derive("return path v1");
  const onEvent = () => wake.notify("events");
  const parser = createParser({ onProblem: (reason) => log.info({ reason }, "a message could not be parsed") });
  const receive = createReceive({
    sql,
    log,
    nowMs,
    parser,
    onEvent,
    findAddressee: createAddressees({ sql, zone: config.zone, returnPathKey }),
    reports: createReports({
      sql,
      log,
      nowMs,
      returnPathKey,
      onEvent,
      onUnattributed: (kind, listed) => deps.metrics.unattributedReports.inc({ kind, listed: String(listed) }),
    }),
    verdicts: createVerdicts({
      resolver: deps.resolver,
      hostname: config.hostname,
      onProblem: (error) => log.warn({ err: error }, "a message could not be authenticated"),
    }),
  });
  const server = createSmtpServer({
    ...config.smtp,
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
    },
    secureContext: createCertificate({
      files: config.tls,
      hostname: config.hostname,
      nowMs,
      onProblem: (error) => log.warn({ err: error }, "the new TLS certificate cannot be used; keeping the old one"),
    }),
    memory: createBudget({ total: memoryBytes }),
    maxConnections: 500,
    maxPerAddress: 50,
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
      await parser.stop();
    },
  };
}
