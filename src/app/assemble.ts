/** All wiring, top to bottom: this file knows everyone, and nobody knows it but main. */
import { fileURLToPath } from "node:url";
import { createAccept } from "../accept/accept.ts";
import { createAuthenticator } from "../api/authenticate.ts";
import { createBodyRoom } from "../api/body-room.ts";
import { createDispatch } from "../api/dispatch.ts";
import { createEmailService } from "../api/emails.ts";
import { createFiles } from "../api/files.ts";
import { createFirstAttempt } from "../api/first-attempt.ts";
import { createFollower } from "../api/follower.ts";
import { healthPages } from "../api/health.ts";
import { createHttp } from "../api/http.ts";
import { createInboundService } from "../api/inbound.ts";
import { createKeyService } from "../api/keys.ts";
import { openapiPages } from "../api/openapi.ts";
import { createQueueService } from "../api/queue.ts";
import { createRateLimit } from "../api/rate-limit.ts";
import { createRouter, type RouterDeps } from "../api/router.ts";
import { createStatsService } from "../api/stats.ts";
import { createSuppressionService } from "../api/suppressions.ts";
import { createShortWay } from "../api/unary-json.ts";
import { ensureExampleDomain } from "../domains/example.ts";
import type { Log } from "../ops/log.ts";
import { createMetrics } from "../ops/metrics.ts";
import { createClock } from "../store/clock.ts";
import type { Sql } from "../store/db.ts";
import { createWake } from "../store/wake.ts";
import { startDelivery } from "./assemble-delivery.ts";
import { asksItself, createDomains, startDns } from "./assemble-domains.ts";
import { startInbound } from "./assemble-inbound.ts";
import { startOps } from "./assemble-ops.ts";
import { createPeopleParts, type FirstSignUp } from "./assemble-people.ts";
import { createWebhooks } from "./assemble-webhooks.ts";
import type { Config } from "./config.ts";
import { createCounter } from "./counter.ts";
import { type Ports, writePorts } from "./files.ts";
import { ensureFirst, type FirstStart } from "./first-start.ts";
import { createHeartbeat } from "./heartbeat.ts";
import { createHousekeeping } from "./housekeeping.ts";
import { explainStart, openStore } from "./open-store.ts";
import type { NodeState } from "./readiness.ts";
import { version } from "./version.ts";

export type Program = {
  ports: Ports;
  first: FirstStart;
  /** A domain that can send from the first moment on, if there is one. */
  exampleDomain: string | undefined;
  /** How the first person signs up, until a person exists. */
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
};

/** `stop` ends the wait for a database that does not answer; everything else of a start is short and is finished first. */
export async function assemble(config: Config, log: Log, stop?: AbortSignal): Promise<Program> {
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
    return await startAll({ config, log, running, node, stopAll, stop });
  } catch (error) {
    await stopAll();
    throw await explainStart(error, config);
  }
}

/** Parts are stopped in the reverse order of their start: listeners first, then the store, the operations port last. */
async function startAll({ config, log, running, node, stopAll, stop }: Start): Promise<Program> {
  const metrics = createMetrics();
  const clock = createClock();
  const shutdown = new AbortController();

  const ops = await startOps({ config, log, metrics, node });
  running.push({ name: "operations", stop: ops.stop });
  const onOpen = (sql: Sql) => {
    node.sql = sql;
    node.phase = "migrating";
  };
  const store = await openStore({ config, log, for: "program", onOpen, stop });
  node.phase = "starting";
  running.push({ name: "store", stop: store.close });
  const { sql } = store;
  ops.announce();

  const { schemaVersion } = store;
  const roles = [...config.roles];
  const heartbeat = createHeartbeat({ sql, log, clock, roles, version, schemaVersion, alone: store.embedded });
  running.push({ name: "heartbeat", stop: heartbeat.stop });
  await heartbeat.start();
  const first = await ensureFirst({ sql, clock, config });

  const wake = createWake({ sql, log });
  running.push({ name: "wake-ups", stop: wake.stop });
  await wake.start();

  const { ports } = node;
  const dns = await startDns({ config, sql, log, nowMs: clock.nowMs, serve: config.roles.has("dns") });
  running.push({ name: "dns", stop: dns.stop });
  ports.dns = dns.listening?.port;
  const domains = createDomains({
    ...{ config, sql, log, dns, secrets: store.secrets, nowMs: clock.nowMs },
    onEvent: () => wake.tell("events"),
  });
  running.push({ name: "domain checks", stop: domains.stop });

  if (config.roles.has("housekeeping")) {
    domains.startLoop();
    const housekeeping = createHousekeeping({ sql, log, retention: config });
    running.push({ name: "housekeeping", stop: housekeeping.stop });
    housekeeping.start();
    const counter = createCounter({ sql, log, clock });
    running.push({ name: "counter", stop: counter.stop });
    counter.start();
  }

  if (config.roles.has("delivery")) {
    const { resolver, allowAddress } = dns;
    const delivery = await startDelivery({
      config,
      log,
      metrics,
      clock,
      wake,
      store,
      heartbeat,
      resolver,
      allowAddress,
    });
    running.push({ name: "delivery", stop: delivery.stop });
  }

  const webhooks = createWebhooks({ config, log, metrics, clock, wake, store, resolver: dns.resolver });
  running.push({ name: "webhooks", stop: webhooks.stop });
  if (config.roles.has("webhooks")) await webhooks.start();

  if (config.roles.has("inbound")) {
    const inbound = await startInbound({ config, log, metrics, clock, wake, store, resolver: dns.resolver });
    running.push({ name: "inbound", stop: inbound.stop });
    ports.smtp = inbound.port;
  }

  let exampleDomain: string | undefined;
  let firstSignUp: FirstSignUp | undefined;
  if (config.roles.has("api")) {
    const local = asksItself(config);
    exampleDomain = await ensureExampleDomain({
      ...domains,
      sql,
      log,
      local,
      zone: config.zone,
      workspaceId: first.workspaceId,
    });
    const accept = createAccept({ sql, clock, wake, limits: config.limits, retryForMs: config.retry.forMs });
    const authenticator = createAuthenticator({ sql, log });
    const follower = createFollower({ sql, log, wake });
    running.push({ name: "event streams", stop: async () => follower.stop() });
    follower.start();
    const firstAttempt = createFirstAttempt({ sql, wake });
    const stopping = shutdown.signal;
    const people = createPeopleParts({
      ...{ config, sql, log, clock, secrets: store.secrets, accept, exampleDomain },
      workspaceId: first.workspaceId,
    });
    running.push({ name: "people", stop: people.stop });
    const services = [
      domains.service,
      createEmailService({ sql, clock, wake, accept, firstAttempt, follower, stopping, ...config.stream }),
      createKeyService({ sql, clock }),
      webhooks.service,
      createSuppressionService({ sql }),
      createInboundService({ sql }),
      createQueueService({ sql, clock, wake }),
      createStatsService({ sql, clock }),
      people.service,
    ];
    const router: RouterDeps = {
      log,
      metrics,
      authenticator,
      sessions: people.sessions,
      rateLimit: createRateLimit(config.rate),
      maxBodyBytes: config.limits.bodyBytes,
      shutdown: stopping,
    };
    const rpcs = createRouter(router, services);
    const bodies = createBodyRoom(4 * config.limits.bodyBytes);
    const shortWay = createShortWay({ ...router, bodies }, services);
    ops.beforeScrape(() => metrics.eventStreams.set(follower.size()));
    const pages = healthPages(ops.health);
    const openapi = await openapiPages(fileURLToPath(new URL("../../docs/openapi.json", import.meta.url)));
    const files = await createFiles(fileURLToPath(new URL("../../web/dist", import.meta.url)));
    const http = createHttp({
      ...config.http,
      log,
      metrics,
      handle: createDispatch({
        log,
        metrics,
        rpcs,
        shortWay,
        pages: new Map([...pages, ...people.pages, ...openapi]),
        files,
        corsOrigins: config.corsOrigins,
        bodies,
        maxBodyBytes: config.limits.bodyBytes,
        streamStallMs: config.stream.stallMs,
      }),
    });
    running.push({
      name: "http",
      stop: async () => {
        shutdown.abort();
        await http.stop(config.drainMs);
        await authenticator.stop();
      },
    });
    ports.http = (await http.start()).port;
    firstSignUp = await people.listensOn(ports.http);
  }
  node.phase = "running";
  await writePorts(config.dataDir, ports);
  log.info({ version, roles: [...config.roles], ports }, "Posthorn is ready");
  return { ports, first, exampleDomain, firstSignUp, stop: stopAll };
}
