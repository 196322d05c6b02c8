/** Delivers queued mail to the recipients' servers: the loop leases due rows lane by lane, runs attempts and settles the results.
 * Parts: schedule.ts (whose turn it is), attempt.ts (one recipient), pace/ (limits per site), rules/, store/ (SQL).
 * Continue with schedule.ts and attempt.ts. No transaction is open while an attempt runs. Started by app/assemble/delivery.ts. */
import { type Lane, laneFromHint } from "../emails/lane.ts";
import type { Log } from "../ops/log.ts";
import { createLeaseLoop } from "../postgres/lease-loop.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Hints, Wake } from "../postgres/wake.ts";
import type { Worker } from "../postgres/workers.ts";
import type { Doubts } from "./doubts.ts";
import { createExpiry } from "./expiry.ts";
import type { Journal } from "./journal.ts";
import { createLaneSearch, type FoundLane } from "./lane-search.ts";
import { createOpenWeeks } from "./open-weeks.ts";
import { createSchedule, type Pace, type ScheduleLimits } from "./schedule.ts";
import { recordWithoutDoubt } from "./store/doubts.ts";
import { type Leased, postpone, releaseLease } from "./store/lease.ts";
import type { Settlement } from "./store/settle.ts";
import { createWatch, type Run, type StallPace } from "./watch.ts";

/** Attempts one recipient. Returns its settlement, or `undefined` if it was not tried. */
/** `undefined`: the recipient was not tried, and its lease is released. `postponeMs`: it was not tried, and is due again after this time. */
export type AttemptResult = Settlement | { postponeMs: number } | undefined;

export type DeliveryAttempt = (row: Leased, run: Run) => Promise<AttemptResult>;

export type LoopDeps = {
  sql: Sql;
  log: Log;
  wake: Wake;
  worker: Worker;
  attempt: DeliveryAttempt;
  settle(item: Settlement): Promise<boolean>;
  /** Whether attempts wait for memory. */
  memoryContended(): boolean;
  journal: Journal;
  doubts: Doubts;
  pace: Pace &
    StallPace & {
      /** Reads what other nodes know about these destinations and about all sites. Called after every lane search. */
      sync(destinations: readonly string[]): Promise<void>;
      onChange(listener: () => void): void;
    };
  limits?: Partial<ScheduleLimits>;
  /** Processes of the program. Each gathers work for longer, so that together they send about as many statements as one. */
  processes?: number;
};

const defaultLimits: ScheduleLimits = { working: 400, opening: 60, sockets: 4000, perTurn: 20 };
const lanesPerLease = 50;
/** One lease statement fills all slots that become free within this time, unless they are as many as a lane gets in one turn. */
const gatherMs = 40;

export function createLoop(deps: LoopDeps) {
  const { sql, log, processes = 1 } = deps;
  const limits = { ...defaultLimits, ...deps.limits };
  const schedule = createSchedule(limits, deps.pace);
  /** Lanes named by wake-ups. They are added when a turn starts: a lease in progress that finds the lane empty would remove it again. */
  const announced: Lane[] = [];
  let gathering: NodeJS.Timeout | undefined;
  let leasedAt = Number.NEGATIVE_INFINITY;
  let freedSinceLease = 0;
  const loop = createLeaseLoop({
    log,
    worker: deps.worker,
    health: sql.health,
    name: "delivery",
    turn,
    waitMs,
    onFailure: () => search.request(),
    onRetired: (workerId) => recordWithoutDoubt(sql, workerId),
  });
  const watch = createWatch({
    log,
    pace: deps.pace,
    schedule,
    memoryContended: deps.memoryContended,
    onFree: loop.wake,
  });
  loop.cut.addEventListener("abort", watch.abortAll, { once: true });
  const expiry = createExpiry({ sql, lease, pending: deps.doubts.pending });
  const openWeeks = createOpenWeeks(sql);
  const search = createLaneSearch({ log, find: openWeeks.findLanes, onFound: takeFound, onEnd: loop.wake });

  async function turn(): Promise<boolean> {
    search.startIfDue();
    takeAnnounced();
    freedSinceLease = 0;
    clearTimeout(gathering);
    gathering = undefined;
    const picked = schedule.pick(performance.now(), lanesPerLease);
    if (picked.length === 0) return false;
    leasedAt = performance.now();
    const rows = await lease((id) => openWeeks.lease(id, picked, deps.doubts.pending()));
    schedule.leased(picked, rows);
    startAll(rows);
    return true;
  }

  function takeAnnounced(): void {
    if (announced.length === 0) return;
    const lanes = announced.splice(0);
    search.note(lanes);
    schedule.hint(lanes, performance.now());
  }

  async function lease<T>(take: (id: string) => Promise<T>): Promise<T> {
    deps.journal.cover(deps.worker.workerId());
    return await loop.lease(take);
  }

  async function takeFound(found: readonly FoundLane[], meanwhile: readonly Lane[]): Promise<void> {
    await deps.doubts.resolve();
    await deps.pace.sync(found.map(({ destination }) => destination));
    schedule.replace(found, performance.now());
    schedule.hint(meanwhile, performance.now());
    startAll(await expiry.leaseExpired(schedule.blocked(performance.now())));
  }

  function startAll(rows: readonly Leased[]): void {
    for (const row of rows) {
      const watched = watch.start(row, schedule.siteOf(row));
      loop.track(deliver(row, watched.run), () => {
        watch.end(watched);
        schedule.finished([row]);
        if (++freedSinceLease >= limits.perTurn) loop.wake();
        else gather();
      });
    }
  }

  function gather(): void {
    gathering ??= setTimeout(() => {
      gathering = undefined;
      loop.wake();
    }, gatherMs * processes);
  }

  async function deliver(row: Leased, run: Run): Promise<void> {
    const result = await loop.attempt(() => deps.attempt(row, run), { emailId: row.emailId });
    if (result && "postponeMs" in result) await loop.persist(() => postpone(sql, row, result.postponeMs));
    else if (result) await loop.persist(() => deps.settle(result));
    else await loop.persist(() => releaseLease(sql, [row]));
    if (!loop.cut.aborted) deps.journal.settled([row]);
  }

  function waitMs(): number {
    const untilDue = (schedule.nextDueMs(performance.now()) ?? Number.POSITIVE_INFINITY) - performance.now();
    return Math.min(untilDue, search.waitMs());
  }

  function onMail(hints: Hints): void {
    if (hints.length === 0) search.request();
    announced.push(...hints.flatMap(laneFromHint));
    // Every process gets every hint. One that has just leased would get the few rows that the others left.
    if (performance.now() - leasedAt < gatherMs * (processes - 1)) gather();
    else loop.wake();
  }

  deps.pace.onChange(loop.wake);

  return {
    start() {
      deps.wake.on("mail", onMail);
      loop.start();
    },
    /** Takes no new leases and settles the work in hand. Work that takes longer than `limitMs` is aborted and its leases are released. */
    async stop(limitMs: number): Promise<void> {
      await loop.stop(limitMs, search.idle);
      clearTimeout(gathering);
    },
    /** What the recipients in hand do, and the sites that attempts wait for. */
    inHand: () => ({ ...schedule.counts(), sites: watch.waitingSites() }),
  };
}
