/**
 * Runs domain checks: leases the domain, queries DNS (check.ts), stores the result. Callers that arrive during a check
 * share its result, on other nodes too. DomainService calls the checker; the loop below runs the checks that are due.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { ZoneCut } from "../dns/record.ts";
import type { Log } from "../ops/log.ts";
import { Problem } from "../ops/problem.ts";
import { makeUuid } from "../postgres/ids.ts";
import { retrying, type Sql } from "../postgres/pool.ts";
import { createBudget, runOrRefuse } from "../shares/budget.ts";
import type { DomainCheck } from "./check.ts";
import { checkTimes, isStale } from "./rules/check-plan.ts";
import { expectedRecords, importedKeyRecord } from "./rules/records.ts";
import { type CheckKind, type DomainCheckResult, resultOf } from "./rules/result.ts";
import {
  claimDue,
  claimStale,
  claimVerify,
  recheckRivals,
  recordCheck,
  recordZone,
  releaseCheck,
} from "./store/checks.ts";
import { forgetDeletedDomains, readPublicKeys } from "./store/dkim-keys.ts";
import { type DomainRow, getDomain } from "./store/domains.ts";
import { listImportedKeys } from "./store/imported-keys.ts";
import { forgetExpiredLinks } from "./store/links.ts";

export type Verification = { row: DomainRow; wasRefreshed: boolean; nextRetryAt: Date | undefined };

export type Checker = {
  /** Returns the domain, checked first if its last check is stale. Undefined: there is no such domain. */
  get(workspaceId: string, id: string): Promise<DomainRow | undefined>;
  /** Checks the domain now, unless a caller requested a check within `verifyIntervalMs`. */
  verify(workspaceId: string, id: string): Promise<Verification | undefined>;
  /** Checks the domain now, without a rate limit. For the operator and the program itself, which know of a change. */
  refresh(workspaceId: string, id: string): Promise<DomainRow | undefined>;
  /** Checks up to `limit` domains that are due, all at once. Returns how many it leased. */
  checkDue(limit: number): Promise<number>;
  /** Checks a domain in the background because a person looks at it, unless a check is recent or too many run. */
  look(row: DomainRow): void;
  /** Looks for the zone of a new domain in the background, so that its names are right before the first check. */
  locate(domain: Pick<DomainRow, "workspaceId" | "id" | "domain">): void;
  /** Aborts all running checks and releases their leases. */
  stop(): Promise<void>;
};

export type CheckerDeps = {
  sql: Sql;
  log: Log;
  check: DomainCheck;
  findZone(domain: string, signal: AbortSignal): Promise<ZoneCut | undefined>;
  zone: string;
  /** The public address of this service, which may be a part of a record. */
  publicUrl?: string;
  verifyIntervalMs: number;
  /** Called after a check has written an event. */
  onEvent?: () => void;
  /** The database's wall time, for ids. */
  nowMs: () => number;
  random?: () => number;
  /** For tests. */
  checksPerWorkspace?: number;
};

/** How long to wait for a check on another node. A check takes at most 5 s. */
const waitForOtherMs = 5_500;
const pollMs = 50;
/** A domain that people look at through a link is checked this often at most, however many they are. */
const lookAgainMs = 30_000;
/** After an internal error, the domain is checked again only after this delay. */
const afterFaultMs = 5 * 60_000;
/** The loop's pause between searches for due domains. */
const everyMs = 2_000;
/** How many checks the loop runs at once. A check of dead DNS takes 5 s: one node can check 60,000 such domains in 6 hours. */
const atOnce = 16;
const forgetEveryMs = 3_600_000;
/** Checks that callers have started and that run at the same time. A workspace may have an eighth, and as many that wait. */
const callerChecks = 128;
const defaultWorkspaceChecks = callerChecks / 8;

export function createChecker(deps: CheckerDeps): Checker {
  const { sql, random = Math.random, checksPerWorkspace: workspaceChecks = defaultWorkspaceChecks } = deps;
  const stopping = new AbortController();
  /** Running checks by domain id; callers that arrive later share them. */
  const shared = new Map<string, Promise<DomainRow | undefined>>();
  const running = new Set<Promise<unknown>>();
  const checks = createBudget({ total: callerChecks, perOwner: workspaceChecks });

  return {
    async get(workspaceId, id) {
      const row = await getDomain(sql, workspaceId, id);
      if (!row || !isStale(row, row.readAt)) return row;
      const sharing = shared.get(id);
      if (sharing) return await sharing;
      // The last known state is better than a wait for the checks of the workspace's other domains.
      if (!checks.tryTake(workspaceId, 1)) return row;
      try {
        return await share(id, claim(workspaceId, id, "refresh"));
      } finally {
        checks.give(workspaceId, 1);
      }
    },

    refresh: (workspaceId, id) => share(id, claim(workspaceId, id, "verify")),

    verify: (workspaceId, id) =>
      runOrRefuse({ budget: checks, owner: workspaceId, maxWaiting: workspaceChecks, refusal: tooManyChecks }, () =>
        verify(workspaceId, id),
      ),

    look(row) {
      const { workspaceId, id } = row;
      const ageMs = row.readAt.getTime() - (row.checkedAt ?? row.registeredAt).getTime();
      if (ageMs <= lookAgainMs || shared.has(id) || !checks.tryTake(workspaceId, 1)) return;
      share(id, claim(workspaceId, id, "refresh", lookAgainMs))
        .catch((error: Error) => deps.log.debug({ domain: row.domain, reason: error.message }, "a domain check failed"))
        .finally(() => checks.give(workspaceId, 1));
    },

    locate(row) {
      if (!checks.tryTake(row.workspaceId, 1)) return;
      void track(storeZone(row).finally(() => checks.give(row.workspaceId, 1)));
    },

    async checkDue(limit) {
      const lease = makeUuid(deps.nowMs());
      const started: Promise<unknown>[] = [];
      for await (const row of claimFairly(lease, limit)) started.push(checkInBackground(row, lease));
      await Promise.all(started);
      return started.length;
    },

    async stop() {
      stopping.abort();
      await Promise.allSettled(running);
    },
  };

  /** Leases due domains: one of each workspace, then the longest overdue ones. */
  async function* claimFairly(lease: string, limit: number): AsyncGenerator<DomainRow> {
    const served = new Set<string>();
    let left = limit;
    for (let othersAreDue = true; left > 0; ) {
      const fairly = othersAreDue ? { perWorkspace: 1, except: [...served] } : {};
      const due = await claimDue(sql, { lease, limit: left, ...fairly });
      for (const { workspaceId } of due) served.add(workspaceId);
      yield* due;
      left -= due.length;
      if (!othersAreDue || served.size === 0) return;
      othersAreDue = due.length > 0;
    }
  }

  /** The first check looks again, so a failure is not an error. */
  async function storeZone({ workspaceId, id, domain }: Pick<DomainRow, "workspaceId" | "id" | "domain">) {
    try {
      const zone = await deps.findZone(
        domain,
        AbortSignal.any([stopping.signal, AbortSignal.timeout(checkTimes.timeoutMs)]),
      );
      if (zone) await recordZone(sql, { workspaceId, id, zone });
    } catch (error) {
      if (!stopping.signal.aborted) deps.log.debug({ domain, reason: (error as Error).message }, "no zone found");
    }
  }

  function checkInBackground(row: DomainRow, lease: string): Promise<unknown> {
    return track(run(row, lease, "background")).catch((error) => {
      if (!stopping.signal.aborted) deps.log.error({ err: error, domain: row.domain }, "a domain check failed");
    });
  }

  async function verify(workspaceId: string, id: string): Promise<Verification | undefined> {
    const lease = makeUuid(deps.nowMs());
    const claimed = await claimVerify(sql, { workspaceId, id, lease, intervalMs: deps.verifyIntervalMs });
    if (!claimed) return await tooSoon(workspaceId, id);
    const row = await share(id, run(claimed, lease, "verify"));
    return row && { row, wasRefreshed: true, nextRetryAt: undefined };
  }

  function track<T>(work: Promise<T>): Promise<T> {
    running.add(work);
    const done = () => void running.delete(work);
    work.then(done, done);
    return work;
  }

  function share(id: string, work: Promise<DomainRow | undefined>): Promise<DomainRow | undefined> {
    shared.set(id, work);
    const done = () => {
      if (shared.get(id) === work) shared.delete(id);
    };
    work.then(done, done);
    return track(work);
  }

  async function claim(
    workspaceId: string,
    id: string,
    kind: CheckKind,
    staleAfterMs = kind === "refresh" ? checkTimes.staleAfterMs : 0,
  ): Promise<DomainRow | undefined> {
    const lease = makeUuid(deps.nowMs());
    const claimed = await claimStale(sql, { workspaceId, id, lease, staleAfterMs });
    return claimed ? await run(claimed, lease, kind) : await awaitOther(workspaceId, id);
  }

  async function tooSoon(workspaceId: string, id: string): Promise<Verification | undefined> {
    const row = await getDomain(sql, workspaceId, id);
    if (!row) return undefined;
    const sinceMs = row.readAt.getTime() - (row.lastVerifyAt ?? row.readAt).getTime();
    const nextRetryAt = new Date(row.wallAt.getTime() - sinceMs + deps.verifyIntervalMs);
    return { row, wasRefreshed: false, nextRetryAt };
  }

  async function run(before: DomainRow, lease: string, kind: CheckKind): Promise<DomainRow | undefined> {
    const { workspaceId, id } = before;
    try {
      const publicKeys = await readPublicKeys(sql, workspaceId, id);
      const importedKeys = await listImportedKeys(sql, workspaceId, id);
      const expected = [
        ...expectedRecords({ ...before, zone: deps.zone, publicUrl: deps.publicUrl, publicKeys }),
        ...importedKeys.map((key) => importedKeyRecord(before, key)),
      ];
      const { records: findings, zone } = await deps.check(expected, stopping.signal);
      const dnsZone = zone?.zone ?? before.dnsZone;
      const result = resultOf({
        before: {
          ...before,
          importedKeys,
          facts: { ...before, createdAt: before.registeredAt, hadDkim: before.signingSlots.length > 0 },
        },
        expected: expectedRecords({ ...before, zone: deps.zone, publicUrl: deps.publicUrl, publicKeys, dnsZone }),
        findings,
        zone,
        kind,
        now: before.readAt,
        jitter: random(),
      });
      const eventId = makeUuid(deps.nowMs());
      const row = await retrying(() => recordCheck(sql, { workspaceId, id, lease, eventId, result }));
      if (!row) return await awaitOther(workspaceId, id);
      if (result.previousStatus !== undefined) deps.onEvent?.();
      await scheduleRivals(before, result);
      return row;
    } catch (error) {
      const againInMs = stopping.signal.aborted ? 0 : afterFaultMs;
      await releaseCheck(sql, { workspaceId, id, lease, againInMs }).catch(() => {});
      throw error;
    }
  }

  /**
   * Makes other registrations of the same name due for a check. When this one gains a DKIM record, another has usually
   * lost it. But each may also have one of the two DKIM records, so the other registration needs a check of its own.
   */
  async function scheduleRivals(before: DomainRow, { signingSlots }: DomainCheckResult): Promise<void> {
    const changed = signingSlots.join() !== before.signingSlots.join();
    if (signingSlots.length === 0 && !changed) return;
    const seenAfter = new Date(before.readAt.getTime() - (changed ? 0 : checkTimes.staleAfterMs));
    await recheckRivals(sql, { ...before, seenAfter });
  }

  /** Waits until the node that holds the lease has stored its result. */
  async function awaitOther(workspaceId: string, id: string): Promise<DomainRow | undefined> {
    const until = performance.now() + waitForOtherMs;
    for (;;) {
      const row = await getDomain(sql, workspaceId, id);
      if (!row?.checking || performance.now() > until || stopping.signal.aborted) return row;
      await delay(pollMs);
    }
  }
}

function tooManyChecks(): Problem {
  return new Problem(
    "resource_exhausted",
    "This workspace checks too many domains at once. Wait for the checks in progress, and retry in a few seconds.",
    { retryAfterMs: 5_000 },
  );
}

/** The background loop: checks domains that are due and removes domains deleted long ago. Several nodes share the work by lease. */
export function createCheckLoop(deps: { sql: Sql; log: Log; checker: Checker }) {
  const stopping = new AbortController();
  let ended: Promise<void> = Promise.resolve();

  async function round(): Promise<void> {
    try {
      while ((await deps.checker.checkDue(atOnce)) === atOnce && !stopping.signal.aborted);
    } catch (error) {
      deps.log.warn({ reason: (error as Error).message }, "domain checks paused: the database does not answer");
    }
  }

  async function forget(): Promise<void> {
    await Promise.all([forgetDeletedDomains(deps.sql), forgetExpiredLinks(deps.sql)]).catch((error: Error) =>
      deps.log.warn({ reason: error.message }, "could not remove old domains and links; will retry"),
    );
  }

  async function work(): Promise<void> {
    let forgetAt = Number.NEGATIVE_INFINITY;
    while (!stopping.signal.aborted) {
      await round();
      if (performance.now() >= forgetAt) {
        await forget();
        forgetAt = performance.now() + forgetEveryMs;
      }
      await delay(everyMs, undefined, { signal: stopping.signal }).catch(() => {});
    }
  }

  return {
    start() {
      ended = work();
    },
    async stop() {
      stopping.abort();
      // Running checks end when the checker stops, or by themselves within seconds.
      await ended;
    },
  };
}
