/** Checks domains: claims the look-up, asks DNS, stores what it means. Who asks while a check is under way shares it, across nodes too. */
import { setTimeout as delay } from "node:timers/promises";
import type { DomainCheck } from "../dns/domain-check.ts";
import type { Log } from "../ops/log.ts";
import { checkTimes, isStale } from "../rules/check-plan.ts";
import { askedRecords } from "../rules/dns-records.ts";
import { type CheckKind, type CheckResult, resultOf } from "../rules/domain-result.ts";
import { retrying, type Sql } from "../store/db.ts";
import { readPublicKeys } from "../store/dkim-keys.ts";
import { claimDue, claimStale, claimVerify, recheckRivals, recordCheck, releaseCheck } from "../store/domain-checks.ts";
import { type DomainRow, getDomain } from "../store/domains.ts";
import { makeUuid } from "../store/ids.ts";

export type Verification = { row: DomainRow; wasRefreshed: boolean; nextRetryAt: Date | undefined };

export type Checker = {
  /** The domain, looked up anew first when its last check is old; undefined: there is no such domain. */
  get(workspaceId: string, id: string): Promise<DomainRow | undefined>;
  /** Looks it up now, unless somebody asked for that within the interval. */
  verify(workspaceId: string, id: string): Promise<Verification | undefined>;
  /** Looks it up now, however often: for the operator and the program itself, who have reason to believe in a change. */
  refresh(workspaceId: string, id: string): Promise<DomainRow | undefined>;
  /** Checks what is due in the background, at most so many at once; says how many it took. */
  checkDue(limit: number): Promise<number>;
  /** Ends all look-ups; what they had claimed is free again. */
  stop(): Promise<void>;
};

export type CheckerDeps = {
  sql: Sql;
  log: Log;
  check: DomainCheck;
  zone: string;
  verifyIntervalMs: number;
  /** Told when an event was written. */
  onEvent?: () => void;
  random?: () => number;
};

/** A check of another node is waited for this long: it takes at most 5 s itself. */
const waitForOtherMs = 5_500;
const pollMs = 50;
/** A check that broke through a fault of ours is not tried again at once. */
const afterFaultMs = 5 * 60_000;

export function createChecker(deps: CheckerDeps): Checker {
  const { sql, random = Math.random } = deps;
  const stopping = new AbortController();
  /** Look-ups for callers, by domain: who comes later waits for the same. */
  const flights = new Map<string, Promise<DomainRow | undefined>>();
  const running = new Set<Promise<unknown>>();

  return {
    async get(workspaceId, id) {
      const row = await getDomain(sql, workspaceId, id);
      if (!row || !isStale(row, row.readAt)) return row;
      return await (flights.get(id) ?? fly(id, claim(workspaceId, id, "refresh")));
    },

    refresh: (workspaceId, id) => fly(id, claim(workspaceId, id, "verify")),

    async verify(workspaceId, id) {
      const lease = makeUuid(Date.now());
      const claimed = await claimVerify(sql, { workspaceId, id, lease, intervalMs: deps.verifyIntervalMs });
      if (!claimed) return await tooSoon(workspaceId, id);
      const row = await fly(id, run(claimed, lease, "verify"));
      return row && { row, wasRefreshed: true, nextRetryAt: undefined };
    },

    async checkDue(limit) {
      const lease = makeUuid(Date.now());
      const due = await claimDue(sql, { lease, limit });
      await Promise.all(
        due.map((row) =>
          track(run(row, lease, "background")).catch((error) => {
            if (!stopping.signal.aborted) deps.log.error({ err: error, domain: row.domain }, "a domain check failed");
          }),
        ),
      );
      return due.length;
    },

    async stop() {
      stopping.abort();
      await Promise.allSettled(running);
    },
  };

  function track<T>(work: Promise<T>): Promise<T> {
    running.add(work);
    const done = () => void running.delete(work);
    work.then(done, done);
    return work;
  }

  function fly(id: string, work: Promise<DomainRow | undefined>): Promise<DomainRow | undefined> {
    flights.set(id, work);
    const landed = () => {
      if (flights.get(id) === work) flights.delete(id);
    };
    work.then(landed, landed);
    return track(work);
  }

  async function claim(workspaceId: string, id: string, kind: CheckKind): Promise<DomainRow | undefined> {
    const lease = makeUuid(Date.now());
    const staleAfterMs = kind === "refresh" ? checkTimes.staleAfterMs : 0;
    const claimed = await claimStale(sql, { workspaceId, id, lease, staleAfterMs });
    return claimed ? await run(claimed, lease, kind) : await awaitOther(workspaceId, id);
  }

  async function tooSoon(workspaceId: string, id: string): Promise<Verification | undefined> {
    const row = await getDomain(sql, workspaceId, id);
    if (!row) return undefined;
    const last = row.lastVerifyAt ?? row.readAt;
    return { row, wasRefreshed: false, nextRetryAt: new Date(last.getTime() + deps.verifyIntervalMs) };
  }

  async function run(before: DomainRow, lease: string, kind: CheckKind): Promise<DomainRow | undefined> {
    const { workspaceId, id } = before;
    try {
      const publicKeys = await readPublicKeys(sql, workspaceId, id);
      const asked = askedRecords({ ...before, zone: deps.zone, publicKeys });
      const findings = await deps.check(asked, stopping.signal);
      const result = resultOf({
        before: {
          ...before,
          facts: { ...before, hadDkim: before.signingSlots.length > 0 },
        },
        ...{ asked, findings, kind, now: before.readAt, jitter: random() },
      });
      const eventId = makeUuid(before.readAt.getTime());
      const row = await retrying(() => recordCheck(sql, { workspaceId, id, lease, eventId, result }));
      if (!row) return await awaitOther(workspaceId, id);
      if (result.previousStatus !== undefined) deps.onEvent?.();
      await lookAtRivals(before, result);
      return row;
    } catch (error) {
      const againInMs = stopping.signal.aborted ? 0 : afterFaultMs;
      await releaseCheck(sql, { workspaceId, id, lease, againInMs }).catch(() => {});
      throw error;
    }
  }

  /** Another registration of the name loses what this one has won, and both may hold one record each: its own check tells. */
  async function lookAtRivals(before: DomainRow, { signingSlots }: CheckResult): Promise<void> {
    const changed = signingSlots.join() !== before.signingSlots.join();
    if (signingSlots.length === 0 && !changed) return;
    const seenAfter = new Date(before.readAt.getTime() - (changed ? 0 : checkTimes.staleAfterMs));
    await recheckRivals(sql, { ...before, seenAfter });
  }

  /** Whoever holds the claim will have stored the answer soon. */
  async function awaitOther(workspaceId: string, id: string): Promise<DomainRow | undefined> {
    const until = Date.now() + waitForOtherMs;
    for (;;) {
      const row = await getDomain(sql, workspaceId, id);
      if (!row?.checking || Date.now() > until || stopping.signal.aborted) return row;
      await delay(pollMs);
    }
  }
}
