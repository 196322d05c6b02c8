/**
 * The folder app: settings (config.ts), wiring, readiness and metrics, and the command line (cli.ts, commands/).
 * This file wires one running program, top to bottom; assemble/ has the larger parts. `posthorn start` and `posthorn demo` call it.
 * Next: config.ts lists every setting, and docs/flow.md follows one email through the parts.
 */
import { createAuditService } from "../audit/service.ts";
import { createComposer } from "../delivery/compose/pool.ts";
import { createScheduled } from "../delivery/scheduled.ts";
import { ensureExampleDomain } from "../domains/example.ts";
import { createAccept } from "../emails/accept.ts";
import { createEmailService, createWaitForFirstAttempt } from "../emails/service.ts";
import { createCatchUp } from "../events/catch-up.ts";
import { createFollower } from "../events/follower.ts";
import { createInboundService } from "../inbound/service.ts";
import { createAuthenticator } from "../keys/authenticate.ts";
import { createKeyService } from "../keys/service.ts";
import { createOperatorService } from "../operators/service.ts";
import { createClock } from "../ops/clock.ts";
import { collectLessOften } from "../ops/heap-growth.ts";
import { createHeapRelief } from "../ops/heap-relief.ts";
import type { Log } from "../ops/log.ts";
import { createMetrics } from "../ops/metrics.ts";
import { makeUuid } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import { createWake } from "../postgres/wake.ts";
import { createQueueService } from "../queue/service.ts";
import { createQuotas } from "../quotas/quotas.ts";
import { createStreamQuota } from "../quotas/streams.ts";
import { createQuotaWatch } from "../quotas/watch.ts";
import { createLoopShare } from "../shares/loop-share.ts";
import { createStatsService } from "../stats/service.ts";
import { createSuppressionService } from "../suppressions/service.ts";
import { createUnsubscribeLinks } from "../suppressions/unsubscribe/links.ts";
import { createDeliverability } from "./assemble/deliverability.ts";
import { countInHand, type DeliveryPart, startDelivery } from "./assemble/delivery.ts";
import { createDomains, startDns, usesOwnDns } from "./assemble/domains.ts";
import { startHousekeeping } from "./assemble/housekeeping.ts";
import { startHttp } from "./assemble/http.ts";
import { createInboundReader, startInbound } from "./assemble/inbound.ts";
import { createPeopleParts, type FirstSignUp } from "./assemble/people.ts";
import { findProviderWorkspaces } from "./assemble/providers.ts";
import { createReports } from "./assemble/reports.ts";
import { startSubmission } from "./assemble/submission.ts";
import { createWebhooks } from "./assemble/webhooks.ts";
import type { Config } from "./config.ts";
import type { Ports } from "./files.ts";
import { ensureFirst, type FirstStart } from "./first-start.ts";
import { createHeartbeat } from "./heartbeat.ts";
import { version } from "./help.ts";
import { type Host, ownProcess } from "./host.ts";
import { explainStart, openStore } from "./open-store.ts";
import type { NodeState } from "./readiness.ts";
import { createSecretWatch } from "./secret-watch.ts";

export type Program = {
  ports: Ports;
  first: FirstStart;
  /** A domain that can send right after the first start, if there is one. */
  exampleDomain: string | undefined;
  /** The one-time sign-up link, until the first person has signed up. */
  firstSignUp: FirstSignUp | undefined;
  stop(): Promise<void>;
};

type Part = { name: string; stop(): Promise<void> };
type Start = {
  config: Config;
  log: Log;
  running: Part[];
  node: NodeState;
  stopAll: () => Promise<void>;
  stop?: AbortSignal;
  host: Host;
};

/** `stop` interrupts the wait for a database that does not answer. Every other step of a start is short and runs to its end. */
export async function assemble(config: Config, log: Log, stop?: AbortSignal, host = ownProcess): Promise<Program> {
  const running: Part[] = [];
  const ports: Ports = { pid: process.pid };
  const node: NodeState = { phase: "starting", version, roles: [...config.roles], ports, sql: undefined };
  const stopAll = async () => {
    node.phase = "stopping";
    for (const part of running.splice(0).reverse()) {
      await part.stop().catch((error) => log.error({ err: error, part: part.name }, "a part did not stop cleanly"));
    }
  };
  try {
    return await startAll({ config, log, running, node, stopAll, stop, host });
  } catch (error) {
    await stopAll();
    throw await explainStart(error, config);
  }
}

/** `stopAll` stops parts in the reverse order of their start: listeners first, then the store, the operations port last. */
async function startAll({ config, log, running, node, stopAll, stop, host }: Start): Promise<Program> {
  const metrics = createMetrics();
  const clock = createClock();
  collectLessOften();
  const heap = createHeapRelief();
  const shutdown = new AbortController();

  const ops = await host.startOps({ config, log, metrics, node });
  running.push({ name: "operations", stop: ops.stop });
  const onOpen = (sql: Sql) => {
    node.sql = sql;
    node.phase = "migrating";
  };
  const store = await openStore({ config, log, for: "program", onOpen, stop, clock });
  node.phase = "starting";
  running.push({ name: "store", stop: store.close });
  const { sql, contents, schemaVersion } = store;
  const content = { sql, contents };
  ops.announce();
  node.contents = contents;
  const roles = [...config.roles];
  const scheduled = createScheduled({ sql, log });
  running.push({ name: "scheduled mail", stop: scheduled.stop });
  const heartbeat = createHeartbeat({
    sql,
    log,
    clock,
    roles,
    version,
    schemaVersion,
    run: host.run,
    alone: store.embedded,
    secretKeys: store.secrets.ids,
    onBeat: scheduled.onBeat,
  });
  running.push({ name: "heartbeat", stop: heartbeat.stop });
  await heartbeat.start();
  const secretWatch = createSecretWatch({ sql, log, config, secrets: store.secrets });
  running.push({ name: "secret watch", stop: secretWatch.stop });
  await secretWatch.start();
  node.secretProblem = store.secrets.problem;
  const first = await ensureFirst({ sql, clock, config });

  const wake = createWake({ sql, log });
  running.push({ name: "wake-ups", stop: wake.stop });
  await wake.start();

  const onEvent = () => wake.notify("events");
  const quotas = createQuotas({ sql, log, clock, defaults: config.quotas, onEvent });
  running.push({ name: "quotas", stop: quotas.idle });

  const { ports } = node;
  const serve = config.roles.has("dns");
  const dns = await startDns({ config, sql, log, nowMs: clock.nowMs, serve, host });
  running.push({ name: "dns", stop: dns.stop });
  ports.dns = dns.listening?.port;
  const domains = createDomains({
    config,
    sql,
    log,
    dns,
    secrets: store.secrets,
    nowMs: clock.nowMs,
    quotas,
    onEvent,
  });
  running.push({ name: "domain checks", stop: domains.stop });

  if (config.roles.has("housekeeping")) {
    domains.startLoop();
    running.push(...startHousekeeping({ config, store, log, clock, onEvent }));
  }

  let onStored: DeliveryPart["expect"] | undefined;
  if (config.roles.has("delivery")) {
    const { resolver, allowAddress } = dns;
    const { part } = host;
    const parts = { config, log, metrics, clock, wake, store, heartbeat, resolver, allowAddress, part };
    const delivery = await startDelivery(parts);
    node.delivery = delivery.inHand;
    ops.beforeScrape(() => countInHand(metrics, delivery.inHand()));
    onStored = delivery.expect;
    running.push({ name: "delivery", stop: delivery.stop });
  }

  const webhooks = createWebhooks({ config, log, metrics, clock, wake, store, quotas, resolver: dns.resolver, host });
  running.push({ name: "webhooks", stop: webhooks.stop });
  if (config.roles.has("webhooks")) await webhooks.start();

  const inboundReader = createInboundReader({ config, log, metrics, resolver: dns.resolver });
  running.push({ name: "inbound threads", stop: inboundReader.stop });
  const { reader } = inboundReader;
  if (config.roles.has("inbound")) {
    const inbound = await startInbound({
      config,
      log,
      metrics,
      heap,
      clock,
      wake,
      store,
      reader,
      quotas,
      beforeScrape: ops.beforeScrape,
      workspaceId: first.workspaceId,
      host,
    });
    running.push({ name: "inbound", stop: inbound.stop });
    ports.smtp = inbound.port;
  }

  let exampleDomain: string | undefined;
  let firstSignUp: FirstSignUp | undefined;
  if (config.roles.has("api")) {
    const local = usesOwnDns(config);
    exampleDomain = await ensureExampleDomain({
      ...domains,
      sql,
      log,
      local,
      zone: config.zone,
      workspaceId: first.workspaceId,
    });
    const unsubscribeLinks = createUnsubscribeLinks({ sql, secrets: store.secrets, publicUrl: config.publicUrl });
    const accept = createAccept({
      processes: host.part.of,
      unsubscribeLinks,
      ...content,
      clock,
      wake,
      limits: config.limits,
      retryForMs: config.retry.forMs,
      quotas: config.quotas,
      onQuotaRefusal: quotas.review,
      onStored,
    });
    const authenticator = createAuthenticator({ sql, log });
    const callLimit = host.callLimit(config.rate);
    const loop = createLoopShare();
    const catchUp = createCatchUp({ sql, loop, heap, metrics });
    const follower = createFollower({ sql, log, wake, catchUp, part: host.part });
    running.push({ name: "event streams", stop: async () => follower.stop() });
    follower.start();
    const waitForFirstAttempt = createWaitForFirstAttempt({ sql, wake });
    const stopping = shutdown.signal;
    const providers = await findProviderWorkspaces(sql, config.providers);
    const people = createPeopleParts({
      config,
      sql,
      log,
      metrics,
      providers,
      clock,
      secrets: store.secrets,
      accept,
      quotas,
      exampleDomain,
      workspaceId: first.workspaceId,
      systemWorkspaceId: first.systemWorkspaceId,
    });
    running.push({ name: "people", stop: people.stop });
    const streams = createStreamQuota({ sql, quotas, node: makeUuid(clock.nowMs()) });
    const watch = createQuotaWatch({ sql, log, quotas, streams, mail: people.mail });
    running.push({ name: "quota watch", stop: watch.stop });
    watch.start();
    const composer = createComposer({ threads: 1 });
    running.push({ name: "composer of the API", stop: composer.stop });
    const services = [
      domains.service,
      createEmailService({
        ...content,
        clock,
        wake,
        accept,
        compose: (email) => composer.compose({ email }),
        readTexts: reader.texts,
        waitForFirstAttempt,
        follower,
        catchUp,
        streams,
        stopping,
        ...config.stream,
      }),
      createKeyService({ sql, clock, quotas }),
      webhooks.service,
      createSuppressionService({ sql }),
      createInboundService({ ...content, reader, part: host.part }),
      createQueueService({ sql, clock, wake }),
      createStatsService({ sql, clock }),
      createDeliverability({
        config,
        ...content,
        secrets: store.secrets,
        resolver: dns.resolver,
        composer,
        reader,
        unsubscribeLinks,
        nowMs: clock.nowMs,
        isLimited: true,
      }),
      createReports({ config, sql, clock, resolver: dns.resolver }),
      createAuditService({ sql }),
      people.service,
      createOperatorService({ sql, clock, wake, defaults: config.quotas, providers }),
    ];
    const http = await startHttp({
      config,
      log,
      metrics,
      clock,
      sql,
      heap,
      host,
      ops,
      services,
      authenticator,
      sessions: people.sessions,
      callLimit,
      loop,
      shutdown: stopping,
      pages: new Map([...people.pages, ...domains.pages]),
      unsubscribeLinks,
      reader,
      onEvent,
    });
    ops.beforeScrape(() => metrics.eventStreams.set(follower.size()));
    running.push({
      name: "http",
      stop: async () => {
        shutdown.abort();
        await http.stop();
        await authenticator.stop();
      },
    });
    ports.http = http.port;
    const submission = await startSubmission({
      config,
      log,
      metrics,
      heap,
      nowMs: clock.nowMs,
      accept,
      authenticator,
      callLimit,
      reader,
      host,
      beforeScrape: ops.beforeScrape,
    });
    running.push({ name: "submission", stop: submission.stop });
    Object.assign(ports, submission.ports);
    firstSignUp = await people.onListening(ports.http);
  }
  node.phase = "running";
  await host.writePorts(config.dataDir, ports);
  log.info({ version, roles: [...config.roles], ports }, "Posthorn is ready");
  return { ports, first, exampleDomain, firstSignUp, stop: stopAll };
}
