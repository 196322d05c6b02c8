/** Wires the delivery role, from leased rows to settled outcomes. Called by assemble.ts. */
import { availableParallelism } from "node:os";
import { createAttempt } from "../../delivery/attempt.ts";
import { createDigests } from "../../delivery/compose/digests.ts";
import { createComposer } from "../../delivery/compose/pool.ts";
import { createRecentMail } from "../../delivery/compose/recent-mail.ts";
import { createDoubts } from "../../delivery/doubts.ts";
import { openJournal, readBootId } from "../../delivery/journal.ts";
import { createJudge } from "../../delivery/judge.ts";
import { createLoop } from "../../delivery/loop.ts";
import { createSweep, openMailbox } from "../../delivery/mailbox.ts";
import { measured } from "../../delivery/measure.ts";
import { createMemory } from "../../delivery/memory.ts";
import { createMtaSts } from "../../delivery/mta-sts.ts";
import { createEvenPace, createPacedTransport } from "../../delivery/pace/paced.ts";
import { createSites, paceOf } from "../../delivery/pace/sites.ts";
import { createSiteLimits } from "../../delivery/rules/site.ts";
import { createSigning } from "../../delivery/signing.ts";
import { createSettler, settleIntervalMs } from "../../delivery/store/settle.ts";
import {
  createDirect,
  createRelay,
  createSimulator,
  readRelayUrl,
  type TransportResult,
} from "../../delivery/transport.ts";
import { createWordings } from "../../delivery/wordings.ts";
import type { Resolver } from "../../dns/resolver.ts";
import { createValidatingResolver } from "../../dns/validating.ts";
import type { NewEmail } from "../../emails/store/emails.ts";
import { findEmails } from "../../emails/store/reads.ts";
import { createFollowUps } from "../../inbound/follow-ups.ts";
import type { Clock } from "../../ops/clock.ts";
import type { Log } from "../../ops/log.ts";
import type { Metrics } from "../../ops/metrics.ts";
import { lowerThreadPriority, openFilesLimit } from "../../ops/process.ts";
import { makeUuid } from "../../postgres/ids.ts";
import type { Wake } from "../../postgres/wake.ts";
import { type ProcessPart, partOf } from "../../shares/process-part.ts";
import { createTurns } from "../../shares/turns.ts";
import { createPool } from "../../smtp/client/pool.ts";
import { createSmtpSender } from "../../smtp/client/send.ts";
import type { Config } from "../config.ts";
import { journalFolder, mailboxFolder } from "../files.ts";
import type { Heartbeat } from "../heartbeat.ts";
import type { Store } from "../open-store.ts";
import type { InHand } from "../readiness.ts";

export type DeliveryDeps = {
  config: Config;
  log: Log;
  metrics: Metrics;
  clock: Clock;
  wake: Wake;
  store: Store;
  heartbeat: Heartbeat;
  resolver: Resolver;
  allowAddress: (ip: string) => boolean;
  part: ProcessPart;
};

/** Emails composed and signed at once: enough to keep every core busy while others are in transfer, and few enough that the next
 * workspace gets its turn soon. */
const composedAtOnce = 4 * Math.max(2, availableParallelism());
/** Memory for content in delivery on this node: two emails of 5 MiB (a larger one runs alone), or a few thousand ordinary ones. */
const memoryBytes = { small: 48 * 1024 * 1024, large: 48 * 1024 * 1024 };

/** Of each process, where several share the above. */
const leastMemoryBytes = 12 * 1024 * 1024;
const leastComposed = 4;

/** Sites with the longest wait in /readyz and the metrics. */
const shownSites = 20;

export type DeliveryPart = {
  /** Emails that this program has just stored. */
  expect(emails: readonly NewEmail[]): void;
  /** What the recipients in hand do, for /readyz and the metrics. */
  inHand(): InHand;
  stop(): Promise<void>;
};

export async function startDelivery(deps: DeliveryDeps): Promise<DeliveryPart> {
  const { config, log, clock, wake, store } = deps;
  const { sql } = store;
  await lowerThreadPriority();
  const { part } = deps;
  const sockets = partOf(socketsOf(config, log), part);
  const route = { resolver: deps.resolver, allowAddress: deps.allowAddress, random: Math.random };
  const dane = config.delivery === "direct" ? startDane(deps) : undefined;
  const validating = dane?.resolver;
  const relay = config.delivery !== "capture" && config.relayUrl ? readRelayUrl(config.relayUrl) : undefined;
  const sites = createSites({
    sql,
    log,
    // The resolver that the sender asks for MX records, so that it finds them in its cache.
    route: { ...route, resolver: validating ?? deps.resolver },
    workerId: deps.heartbeat.workerId,
    scheduleMs: config.retry.scheduleMs,
    random: Math.random,
    limits: createSiteLimits(config.siteLimits),
    single: config.delivery === "relay" ? relay!.host : undefined,
    fallback: config.relayFallback && relay && { site: relay.host, ...config.relayFallback },
  });
  const pool = createPool({
    total: sockets,
    onCeiling: (site, failure) =>
      sites.observe(site, "slow", {
        startedMs: performance.now(),
        reply: "message" in failure ? failure.message : failure.reply.line,
      }),
  });
  const sender = createSmtpSender({ pool, ...route, validating });
  const relaying = relay && createRelay({ sender, url: config.relayUrl!, heloName: config.hostname });
  const fallback = config.relayFallback && relaying && { site: relay.host, transport: relaying };
  const policyOf = createMtaSts({ sql, log, resolver: deps.resolver, route, port: config.mtaStsPort });
  const direct = createDirect({
    sender,
    port: config.mxPort,
    heloName: config.hostname,
    sources: config.sources,
    policyOf,
  });
  const wordings = createWordings({ sql, log, makeId: () => makeUuid(clock.nowMs()) });
  const onResult = (result: TransportResult, of: Parameters<typeof wordings.observe>[1]) => {
    countSource(deps.metrics, result);
    wordings.observe(result.evidence, of);
  };
  const unpaced = { capture: undefined, direct, relay: relaying }[config.delivery];
  const transport = unpaced && createPacedTransport({ sites, transport: unpaced, fallback, onResult });
  const composer = createComposer({ threads: 1 });
  const digests = createDigests();
  const recentMail = createRecentMail({ composer, digests });
  const signing = createSigning({ sql, log, secrets: store.secrets, zone: config.zone });
  const judge = createJudge({
    scheduleMs: config.retry.scheduleMs,
    doubtScheduleMs: config.retry.doubtScheduleMs,
    nowMs: clock.nowMs,
    serviceMs: clock.serviceMs,
    makeEventId: () => makeUuid(clock.nowMs()),
  });
  const mailbox = await openMailbox(mailboxFolder(config.dataDir), clock.serviceMs);
  const memory = createMemory({
    small: partOf(memoryBytes.small, part, leastMemoryBytes),
    large: partOf(memoryBytes.large, part, leastMemoryBytes),
  });
  const journal = openJournal({ folder: journalFolder(config.dataDir), log, bootId: readBootId() });
  const doubts = createDoubts({ sql, log, journal, doubtScheduleMs: config.retry.doubtScheduleMs });
  const attempt = createAttempt({
    sql,
    contents: store.contents,
    log,
    composer,
    digests,
    recentMail,
    signing,
    judge,
    transport,
    simulator: createSimulator({ judge, mailbox, log }),
    journal,
    memory,
    turns: createTurns(partOf(composedAtOnce, part, leastComposed)),
  });
  const settler = createSettler(sql, {
    onSettled: () => wake.notify("events"),
    minIntervalMs: settleIntervalMs * part.of,
  });
  const loop = createLoop({
    sql,
    log,
    wake,
    worker: deps.heartbeat,
    attempt: measured(attempt, deps.metrics),
    settle: (item) => settler.add(item, JSON.stringify(item.event.payload).length),
    limits: { sockets },
    processes: part.of,
    memoryContended: memory.contended,
    journal,
    doubts,
    pace: transport ? paceOf(sites) : createEvenPace(),
  });
  const followUps = createFollowUps({ sql, log, clock, wake });
  const findExisting = (ids: readonly string[]) => findEmails(sql, ids);
  const sweep = createSweep({ mailbox, log, keptDays: config.contentDays, findExisting });
  loop.start();
  followUps.start();
  sweep.start();
  wordings.start();
  deps.metrics.deliverySockets.set(sockets);
  return {
    expect: recentMail.expect,
    inHand() {
      const { sites: waiting, ...counts } = loop.inHand();
      const shown = waiting.slice(0, shownSites).map(({ site, attempts, waitedMs }) => ({
        site,
        attempts,
        waitedSeconds: Math.round(waitedMs / 1000),
        stalled: sites.pace.stalledSinceMs(site) !== undefined,
      }));
      return { ...counts, sites: shown };
    },
    async stop() {
      await loop.stop(config.drainMs);
      journal.close();
      await sites.stop();
      await settler.idle();
      await followUps.stop();
      await sweep.stop();
      await wordings.stop();
      await pool.stop(1000);
      dane?.stop();
      await composer.stop();
      await digests.end();
    },
  };
}

const validationCheckMs = 3600_000;

/** The resolver of deliveries with DANE; undefined where the operator named none. A resolver that does not validate would turn DANE off
 * without a sign, so this logs a warning. */
function startDane({ config, resolver: ordinary, log }: DeliveryDeps) {
  if (config.daneResolvers === undefined) return undefined;
  const resolver = createValidatingResolver({ servers: config.daneResolvers, ordinary });
  const check = async () => {
    const root = await resolver.lookup(".", "SOA", { bypassCache: true });
    if (root.kind === "found" && !root.secure)
      log.warn("a resolver in POSTHORN_DANE_RESOLVER does not validate DNSSEC, so DANE is off; run posthorn doctor");
  };
  void check();
  const timer = setInterval(check, validationCheckMs).unref();
  return {
    resolver,
    stop() {
      clearInterval(timer);
      resolver.stop();
    },
  };
}

/** The other sockets and files of the process need the rest of what the system allows. */
function socketsOf({ deliverySockets }: Config, log: Log): number {
  const allowed = Math.floor((openFilesLimit() ?? Number.POSITIVE_INFINITY) / 4);
  if (allowed >= deliverySockets) return deliverySockets;
  log.warn(
    { sockets: allowed, setting: deliverySockets },
    "the limit of open files allows fewer delivery sockets than POSTHORN_DELIVERY_SOCKETS; raise LimitNOFILE or ulimit -n",
  );
  return allowed;
}

/** Sets the gauges of the recipients in hand. */
export function countInHand(metrics: Metrics, { sites, ...counts }: InHand): void {
  for (const state of ["working", "waiting", "hesitant"] as const)
    metrics.deliveriesByState.set({ state }, counts[state]);
  metrics.siteWaiting.reset();
  for (const { site, attempts } of sites) metrics.siteWaiting.set({ site }, attempts);
}

function countSource(metrics: Metrics, { localAddress, evidence }: TransportResult): void {
  if (localAddress === "") return;
  const result = evidence.kind === "accepted" || evidence.kind === "refused" ? evidence.kind : "failed";
  metrics.sourceMessages.inc({ address: localAddress, result });
}
