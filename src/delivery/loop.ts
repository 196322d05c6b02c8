/** The delivery role: leases due recipients lane by lane, hands each email's recipients at one destination to an attempt, and settles
 * what comes out. Nothing here talks SMTP, and no transaction is open while somebody does. */
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../ops/log.ts";
import { isDatabaseAway, type Sql } from "../store/db.ts";
import { findLanes, type Lane, type Leased, leaseDue, makeLease, releaseLease } from "../store/lease.ts";
import type { Settlement } from "../store/settle.ts";
import type { Wake } from "../store/wake.ts";
import { createLanes, type LaneLimits } from "./lanes.ts";

export type Worker = {
  workerId(): number;
  /** Goes on under a new id; the old one is kept alive until `done`, then its leases are free. */
  renew(done: Promise<unknown>): Promise<void>;
};

/** Recipients of one email at one destination; resolves to what each came to, or `undefined` for one that was not tried. */
export type Attempt = (rows: readonly Leased[], signal: AbortSignal) => Promise<(Settlement | undefined)[]>;

export type LoopDeps = {
  sql: Sql;
  log: Log;
  wake: Wake;
  worker: Worker;
  attempt: Attempt;
  settle(item: Settlement): Promise<boolean>;
  limits?: Partial<LaneLimits>;
};

const defaultLimits: LaneLimits = { perDestination: 40, onTrial: 2, total: 400, perTurn: 20 };
/** Wake-ups are hints; this often the store is looked at anyway. */
const pollMs = 1000;
const lanesPerLease = 50;
const lanesKnown = 10_000;

export function createLoop(deps: LoopDeps) {
  const { sql, log } = deps;
  const lanes = createLanes({ ...defaultLimits, ...deps.limits });
  const stopping = new AbortController();
  const cut = new AbortController();
  const inHand = new Set<Promise<void>>();
  let leases = 0;
  let stirred = true;
  let lookedAtMs = 0;
  /** More lanes than can be known at once are looked at in turns. */
  let lookedTo: Lane | undefined;
  let stir = () => {};
  /** A lease may have been taken without us hearing of it. */
  let unheard = false;
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        if (unheard) await renew();
        if (stirred || performance.now() - lookedAtMs >= pollMs) {
          stirred = false;
          lookedAtMs = performance.now();
          const found = await findLanes(sql, lanesKnown, lookedTo);
          lookedTo = found.length < lanesKnown ? undefined : found.at(-1);
          lanes.replace(found, Date.now());
        }
        const picked = lanes.pick(Date.now(), lanesPerLease);
        if (picked.length === 0) {
          await rest();
          continue;
        }
        const rows = await lease(picked);
        lanes.leased(picked, rows);
        for (const group of groupByTransaction(rows)) start(group);
      } catch (error) {
        if (!isDatabaseAway(error)) log.error({ err: error }, "the delivery loop failed and goes on");
        await delay(500, undefined, { signal: stopping.signal }).catch(() => {});
        stirred = true;
      }
    }
  }

  async function lease(picked: Parameters<typeof leaseDue>[2]): Promise<Leased[]> {
    try {
      return await leaseDue(sql, makeLease(deps.worker.workerId(), ++leases), picked);
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
    const { destination } = rows[0]!;
    const work = deliver(rows)
      .then((results) => lanes.heard(destination, isReached(results)))
      .finally(() => {
        inHand.delete(work);
        lanes.finished(destination, rows.length);
        stir();
      });
    inHand.add(work);
  }

  async function deliver(rows: Leased[]): Promise<(Settlement | undefined)[]> {
    let results: (Settlement | undefined)[];
    try {
      results = await deps.attempt(rows, cut.signal);
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
    return results;
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
    const untilDue = (lanes.nextDueMs() ?? Number.POSITIVE_INFINITY) - Date.now();
    const untilPoll = lookedAtMs + pollMs - performance.now();
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.max(5, Math.min(untilDue, untilPoll)));
      stir = () => {
        clearTimeout(timer);
        resolve();
      };
      if (stirred || stopping.signal.aborted) stir();
    });
    stir = () => {};
  }

  const wakeUp = () => {
    stirred = true;
    stir();
  };

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
      await Promise.all(inHand);
      clearTimeout(timer);
    },
  };
}

/** False when no server of the destination was there to answer; undefined when this attempt says nothing about it. */
function isReached(results: readonly (Settlement | undefined)[]): boolean | undefined {
  const tried = results.filter((result) => result !== undefined && result.status !== "suppressed");
  if (tried.length === 0) return undefined;
  return !tried.every((result) => result?.status === "delayed" && unreached.has(String(result.event.payload.category)));
}

const unreached = new Set(["network", "dns"]);

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
