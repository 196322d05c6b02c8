/** One attempt to deliver an email to its recipients at one destination, as a list of named steps. The delivery loop calls it and gets one
 * settlement per recipient. */
import { type ContentKey, readContents } from "../emails/store/content.ts";
import type { Log } from "../ops/log.ts";
import { createLoader } from "../postgres/loader.ts";
import { isDatabaseAway, type Sql } from "../postgres/pool.ts";
import type { Journal } from "./journal.ts";
import type { createJudge } from "./judge.ts";
import type { DeliveryAttempt } from "./loop.ts";
import { createMessageSource, type MessageSource, type MessageSourceDeps, Undeliverable } from "./message-source.ts";
import type { Leased } from "./store/lease.ts";
import type { Settlement } from "./store/settle.ts";
import type { Simulator, Transport } from "./transport.ts";
import type { Run } from "./watch.ts";

export type AttemptDeps = Omit<MessageSourceDeps, "contentOf"> & {
  sql: Sql;
  log: Log;
  judge: ReturnType<typeof createJudge>;
  /** Undefined in capture mode, where every email is simulated. */
  transport: Transport | undefined;
  simulator: Simulator;
  journal: Pick<Journal, "sent">;
};

/** The recipients that get the same message. */
type Group = { rows: readonly Leased[]; utf8: boolean };

/** `undefined`: the recipient was not tried, and its lease is released. */
type Result = Settlement | undefined;

export function createAttempt(deps: AttemptDeps): DeliveryAttempt {
  const { judge, log } = deps;
  const contentOf = createLoader(async (keys: ContentKey[]) => {
    const found = await readContents(deps.sql, keys);
    return keys.map((key) => found.get(key.emailId));
  }, 50);

  return async (rows, run) => {
    const settled = settleWithoutAttempt(rows);
    const open = rows.filter((row) => !settled.has(row));
    for (const group of groupByHeaderForm(open)) {
      const results = await deliverGroup(group, run);
      for (const [i, row] of group.rows.entries()) settled.set(row, results[i]);
    }
    return rows.map((row) => settled.get(row));
  };

  function settleWithoutAttempt(rows: readonly Leased[]): Map<Leased, Result> {
    const settled = new Map<Leased, Result>();
    for (const row of rows) {
      if (row.suppression) settled.set(row, judge.suppress(row, row.suppression));
      else if (row.early) settled.set(row, undefined);
      else if (judge.isExpired(row)) settled.set(row, judge.expired(row));
    }
    return settled;
  }

  /** Catches its own errors, so that a failing group does not lose the results of an earlier one. */
  async function deliverGroup({ rows, utf8 }: Group, run: Run): Promise<Result[]> {
    const { email, destination } = rows[0]!;
    const source = createMessageSource(
      { ...deps, contentOf },
      { email, destination, smtputf8: utf8, signal: run.signal },
    );
    let dotSent = false;
    try {
      if (email.test || !deps.transport) return await simulate(rows, source);
      // A site that is known to answer gets the message at once. For others it is composed when they ask for it.
      if (!run.unproven) await source.load();
      run.dropContent = source.drop;
      run.progress.onDot = () => {
        dotSent = true;
        deps.journal.sent(rows);
        source.drop();
      };
      const { returnPathDomain } = await source.signer();
      const { evidence, conversation } = await deps.transport({
        destination,
        returnPath: deps.signing.returnPath(email.id, returnPathDomain),
        recipients: rows.map((row) => row.address),
        data: source,
        utf8Headers: utf8,
        requireTls: email.envelope.requireTls,
        siteName: run.site,
        attempts: rows[0]!.attempts,
        progress: run.progress,
        signal: run.signal,
      });
      return judge.judgeAll(rows, evidence, conversation);
    } catch (error) {
      return settleError(error, rows, { signal: run.signal, dotSent });
    } finally {
      run.dropContent = undefined;
      source.drop();
    }
  }

  async function simulate(rows: readonly Leased[], source: MessageSource): Promise<Result[]> {
    const raw = await source.load();
    const returnPath = deps.signing.returnPath(rows[0]!.email.id, (await source.signer()).returnPathDomain);
    return await Promise.all(rows.map((row) => deps.simulator(row, { raw, returnPath })));
  }

  function settleError(
    error: unknown,
    rows: readonly Leased[],
    at: { signal: AbortSignal; dotSent: boolean },
  ): Result[] {
    const emailId = rows[0]!.emailId;
    if (error instanceof Undeliverable) {
      log.warn({ emailId, category: error.category }, error.message);
      return rows.map((row) => judge.fail(row, error.category, error.message));
    }
    // Before the final dot the receiver cannot have the message, so the leases are released.
    if (!at.dotSent && (at.signal.aborted || isDatabaseAway(error))) return rows.map(() => undefined);
    log.error({ err: error, emailId }, "a delivery attempt failed with an internal error");
    return rows.map((row) => judge.fault(row, at.dotSent));
  }
}

/** RFC 6532: a non-ASCII address in a header field needs SMTPUTF8 on every hop. The other recipients get a message without it. */
function groupByHeaderForm(rows: readonly Leased[]): Group[] {
  const needsUtf8 = (row: Leased) => /[^\x00-\x7f]/.test(row.address);
  return [false, true]
    .map((utf8) => ({ utf8, rows: rows.filter((row) => needsUtf8(row) === utf8) }))
    .filter((group) => group.rows.length > 0);
}
