/** Delivers queued mail to the recipients' servers: the loop leases due rows lane by lane, runs attempts and settles the results.
 * Parts: schedule.ts (whose turn it is), attempt.ts (one email at one destination), pace/ (limits per site), rules/, store/ (SQL).
 * Continue with schedule.ts and attempt.ts. No transaction is open while an attempt runs. Started by app/assemble/delivery.ts. */
import { type Lane, laneFromHint } from "../emails/lane.ts";
import type { Log } from "../ops/log.ts";
import { createLeaseLoop } from "../postgres/lease-loop.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Hints, Wake } from "../postgres/wake.ts";
import type { Worker } from "../postgres/workers.ts";
import { createExpiry } from "./expiry.ts";
import { createLaneSearch, type FoundLane } from "./lane-search.ts";
import { createSchedule, type Pace, type ScheduleLimits } from "./schedule.ts";
import { type Leased, leaseDue, releaseLease } from "./store/lease.ts";
import type { Settlement } from "./store/settle.ts";

/** Attempts the recipients of one email at one destination. Returns a settlement for each, or `undefined` for one that was not tried. */
export type DeliveryAttempt = (
  rows: readonly Leased[],
  signal: AbortSignal,
  /** The site that the rows were leased for. */
  site?: string,
) => Promise<(Settlement | undefined)[]>;

export type LoopDeps = {
  sql: Sql;
  log: Log;
  wake: Wake;
  worker: Worker;
  attempt: DeliveryAttempt;
  settle(item: Settlement): Promise<boolean>;
  pace: Pace & {
    /** Reads what other nodes know about these destinations and about all sites. Called after every lane search. */
    sync(destinations: readonly string[]): Promise<void>;
    onChange(listener: () => void): void;
  };
  limits?: Partial<ScheduleLimits>;
};

const defaultLimits: ScheduleLimits = { total: 400, unproven: 200, perTurn: 20 };
const lanesPerLease = 50;
/** One lease statement fills all slots that become free within this time. */
const gatherMs = 40;

export function createLoop(deps: LoopDeps) {
  const { sql, log } = deps;
  const schedule = createSchedule({ ...defaultLimits, ...deps.limits }, deps.pace);
  /** Lanes named by wake-ups. They are added when a turn starts: a lease in progress that finds the lane empty would remove it again. */
  const announced: Lane[] = [];
  let gathering: NodeJS.Timeout | undefined;
  const loop = createLeaseLoop({
    log,
    worker: deps.worker,
    name: "delivery",
    turn,
    waitMs,
    onFailure: () => search.request(),
  });
  const expiry = createExpiry({ sql, lease: loop.lease });
  const search = createLaneSearch({ sql, log, onFound: takeFound, onEnd: loop.wake });

  async function turn(): Promise<boolean> {
    search.startIfDue();
    takeAnnounced();
    const picked = schedule.pick(Date.now(), lanesPerLease);
    if (picked.length === 0) return false;
    const rows = await loop.lease((lease) => leaseDue(sql, lease, picked));
    schedule.leased(picked, rows);
    startAll(rows);
    return true;
  }

  function takeAnnounced(): void {
    if (announced.length === 0) return;
    const lanes = announced.splice(0);
    search.note(lanes);
    schedule.hint(lanes, Date.now());
  }

  async function takeFound(found: readonly FoundLane[], meanwhile: readonly Lane[]): Promise<void> {
    await deps.pace.sync(found.map(({ destination }) => destination));
    schedule.replace(found, Date.now());
    schedule.hint(meanwhile, Date.now());
    startAll(await expiry.leaseExpired(schedule.blocked(Date.now())));
  }

  function startAll(rows: readonly Leased[]): void {
    for (const group of groupByTransaction(rows)) {
      loop.track(deliver(group), () => {
        schedule.finished(group);
        gather();
      });
    }
  }

  function gather(): void {
    gathering ??= setTimeout(() => {
      gathering = undefined;
      loop.wake();
    }, gatherMs);
  }

  async function deliver(rows: Leased[]): Promise<void> {
    const site = schedule.siteOf(rows[0]!);
    const results = await loop.attempt((signal) => deps.attempt(rows, signal, site), { emailId: rows[0]!.emailId });
    const untried = rows.filter((_, i) => results?.[i] === undefined);
    const settlements = (results ?? []).filter((result) => result !== undefined);
    await Promise.all([
      ...settlements.map((result) => loop.persist(() => deps.settle(result))),
      ...(untried.length > 0 ? [loop.persist(() => releaseLease(sql, untried))] : []),
    ]);
  }

  function waitMs(): number {
    const untilDue = (schedule.nextDueMs(Date.now()) ?? Number.POSITIVE_INFINITY) - Date.now();
    return Math.min(untilDue, search.waitMs());
  }

  function onMail(hints: Hints): void {
    if (hints.length === 0) search.request();
    announced.push(...hints.flatMap(laneFromHint));
    loop.wake();
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
  };
}

/** The recipients of one email at one destination share an SMTP transaction. */
function groupByTransaction(rows: readonly Leased[]): Leased[][] {
  return [...Map.groupBy(rows, (row) => `${row.emailId} ${row.destination}`).values()];
}
