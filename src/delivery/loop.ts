/** The delivery role: leases due recipients lane by lane, hands each email's recipients at one destination to an attempt, and settles
 * what comes out. Nothing here talks SMTP, and no transaction is open while somebody does. */
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../ops/log.ts";
import { isDatabaseAway, type Sql } from "../store/db.ts";
import { findLanes, type Lane, type Leased, laneFromHint, leaseDue, makeLease, releaseLease } from "../store/lease.ts";
import type { Settlement } from "../store/settle.ts";
import type { Hints, Wake } from "../store/wake.ts";
import { createExpiry } from "./expiry.ts";
import { createLanes, type LaneLimits, type Pace } from "./lanes.ts";

export type Worker = {
  workerId(): number;
  /** Goes on under a new id; the old one is kept alive until `done`, then its leases are free. */
  renew(done: Promise<unknown>): Promise<void>;
};

/** Recipients of one email at one destination, and the site they were leased for; resolves to what each came to, or `undefined` for one
 * that was not tried. */
export type Attempt = (
  rows: readonly Leased[],
  signal: AbortSignal,
  site?: string,
) => Promise<(Settlement | undefined)[]>;

export type LoopDeps = {
  sql: Sql;
  log: Log;
  wake: Wake;
  worker: Worker;
  attempt: Attempt;
  settle(item: Settlement): Promise<boolean>;
  pace: Pace & {
    /** What other nodes know of these destinations and of all sites; called at every look at the store. */
    sync(destinations: readonly string[]): Promise<void>;
    onChange(listener: () => void): void;
  };
  limits?: Partial<LaneLimits>;
};

const defaultLimits: LaneLimits = { total: 400, unproven: 200, perTurn: 20 };
/** Wake-ups are hints; this often the store is looked at anyway. */
const pollMs = 1000;
/** After a look the store is left alone for so many times as long as it took. */
const lookRest = 2;
/** Nobody waits long for it, and a lease takes several rows instead of one. */
const gatherMs = 40;
const lanesPerLease = 50;
const lanesKnown = 10_000;

export function createLoop(deps: LoopDeps) {
  const { sql, log } = deps;
  const lanes = createLanes({ ...defaultLimits, ...deps.limits }, deps.pace);
  const stopping = new AbortController();
  const cut = new AbortController();
  const inHand = new Set<Promise<void>>();
  const expiry = createExpiry({ sql, lease });
  let leases = 0;
  let stirred = true;
  /** Where mail is said to be. Kept until no lease is under way: one that finds a lane empty must not undo them. */
  const hints: Lane[] = [];
  let heardWhileLooking: Lane[] = [];
  let looking: Promise<void> | undefined;
  let lookAtMs = 0;
  /** More lanes than can be known at once are looked at in turns. */
  let lookedTo: Lane | undefined;
  let stir = () => {};
  /** A lease may have been taken without us hearing of it. */
  let unheard = false;
  let gathering: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        if (unheard) await renew();
        if (!looking && (stirred || performance.now() >= lookAtMs)) {
          stirred = false;
          looking = look();
        }
        if (hints.length > 0) tellLanes(hints.splice(0));
        const picked = lanes.pick(Date.now(), lanesPerLease);
        if (picked.length === 0) {
          await rest();
          continue;
        }
        const rows = await lease((id) => leaseDue(sql, id, picked));
        lanes.leased(picked, rows);
        for (const group of groupByTransaction(rows)) start(group);
      } catch (error) {
        if (!isDatabaseAway(error)) log.error({ err: error }, "the delivery loop failed and goes on");
        await delay(500, undefined, { signal: stopping.signal }).catch(() => {});
        stirred = true;
      }
    }
  }

  /**
   * What waits, as the store knows it. With ten thousand lanes this takes half a second, so that nobody waits for it: leasing goes on
   * beside it, and what was said meanwhile is said again when it is over.
   */
  async function look(): Promise<void> {
    const beganMs = performance.now();
    heardWhileLooking = [];
    try {
      const found = await findLanes(sql, lanesKnown, lookedTo);
      lookedTo = found.length < lanesKnown ? undefined : found.at(-1);
      await deps.pace.sync(found.map(({ destination }) => destination));
      lanes.replace(found, Date.now());
      lanes.hint(heardWhileLooking, Date.now());
      for (const group of groupByTransaction(await expiry.look(lanes.waiting(Date.now())))) start(group);
    } catch (error) {
      if (!isDatabaseAway(error)) log.error({ err: error }, "the look for mail failed and is made again");
    } finally {
      const tookMs = performance.now() - beganMs;
      lookAtMs = performance.now() + Math.max(pollMs - tookMs, lookRest * tookMs);
      looking = undefined;
      stir();
    }
  }

  function tellLanes(named: Lane[]): void {
    if (looking) heardWhileLooking.push(...named);
    lanes.hint(named, Date.now());
  }

  async function lease<T>(take: (id: string) => Promise<T>): Promise<T> {
    try {
      return await take(makeLease(deps.worker.workerId(), ++leases));
    } catch (error) {
      unheard = true;
      throw error;
    }
  }

  /** Rows that a statement leased without an answer are ours and nobody knows: they are free once the worker that leased them is gone. */
  async function renew(): Promise<void> {
    await deps.worker.renew(Promise.allSettled(inHand));
    unheard = false;
  }

  function start(rows: Leased[]): void {
    const work = deliver(rows).finally(() => {
      inHand.delete(work);
      lanes.finished(rows);
      gather();
    });
    inHand.add(work);
  }

  /** Room that becomes free is taken a little later, with what becomes free meanwhile: one statement for many rows. */
  function gather(): void {
    gathering ??= setTimeout(() => {
      gathering = undefined;
      stir();
    }, gatherMs);
  }

  async function deliver(rows: Leased[]): Promise<void> {
    let results: (Settlement | undefined)[];
    try {
      results = await deps.attempt(rows, cut.signal, lanes.siteOf(rows[0]!));
    } catch (error) {
      if (!isDatabaseAway(error) && !cut.signal.aborted)
        log.error(
          { err: error, emailId: rows[0]!.emailId },
          "an attempt failed by a fault of ours; it will be made again",
        );
      // A fault must not turn into a busy loop over the same email.
      await delay(1000, undefined, { signal: stopping.signal }).catch(() => {});
      results = rows.map(() => undefined);
    }
    const untried = rows.filter((_, i) => results[i] === undefined);
    await Promise.all([
      ...results.flatMap((result) => (result ? [persist(() => deps.settle(result))] : [])),
      ...(untried.length > 0 ? [persist(() => releaseLease(sql, untried))] : []),
    ]);
  }

  /**
   * An outcome is known and must not be lost: it is written until the store takes it, or the process is cut off and the lease ends
   * in doubt. A store that refuses it also gets no further mail sent than fits in hand, since none of it could be told about.
   */
  async function persist(write: () => Promise<unknown>): Promise<void> {
    for (let waitMs = 50; ; waitMs = Math.min(waitMs * 2, 5000)) {
      try {
        await write();
        return;
      } catch (error) {
        if (!isDatabaseAway(error)) log.error({ err: error }, "an outcome could not be settled; it is tried again");
        if (cut.signal.aborted) return;
        await delay(waitMs, undefined, { signal: cut.signal }).catch(() => {});
      }
    }
  }

  /** Until something may have changed: a wake-up, room again, a lane that becomes due, or the poll. */
  async function rest(): Promise<void> {
    const untilDue = (lanes.nextDueMs(Date.now()) ?? Number.POSITIVE_INFINITY) - Date.now();
    const untilPoll = looking ? pollMs : lookAtMs - performance.now();
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.max(5, Math.min(untilDue, untilPoll)));
      stir = () => {
        clearTimeout(timer);
        resolve();
      };
      if ((stirred && !looking) || hints.length > 0 || stopping.signal.aborted) stir();
    });
    stir = () => {};
  }

  const wakeUp = (words: Hints) => {
    if (words.length === 0) stirred = true;
    hints.push(...words.flatMap(laneFromHint));
    stir();
  };
  deps.pace.onChange(() => stir());

  return {
    start() {
      deps.wake.on("mail", wakeUp);
      running = run();
    },
    /** No new leases; work in hand is settled, or cut off and given back when the limit is reached. */
    async stop(limitMs: number): Promise<void> {
      stopping.abort();
      stir();
      const timer = setTimeout(() => cut.abort(), limitMs);
      await running;
      clearTimeout(gathering);
      await looking;
      await Promise.all(inHand);
      clearTimeout(timer);
    },
  };
}

/** One email's recipients at one destination travel together. */
function groupByTransaction(rows: readonly Leased[]): Leased[][] {
  const groups = new Map<string, Leased[]>();
  for (const row of rows) {
    const key = `${row.emailId} ${row.destination}`;
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  return [...groups.values()];
}
