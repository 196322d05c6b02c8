/** One attempt to deliver an email to its recipients at one destination, as a list of named steps. The delivery loop calls it and gets one
 * settlement per recipient. */
import { toOutgoing } from "../emails/outgoing.ts";
import { type ContentKey, readContents } from "../emails/store/content.ts";
import type { Log } from "../ops/log.ts";
import { createLoader } from "../postgres/loader.ts";
import { isDatabaseAway, type Sql } from "../postgres/pool.ts";
import type { Composer } from "./compose/pool.ts";
import type { createJudge } from "./judge.ts";
import type { DeliveryAttempt } from "./loop.ts";
import type { Memory, Reservation } from "./memory.ts";
import type { createSigning, Signer } from "./signing.ts";
import type { Leased, LeasedEmail } from "./store/lease.ts";
import type { Settlement } from "./store/settle.ts";
import type { Simulator, Transport } from "./transport.ts";
import type { Turns } from "./turns.ts";

export type AttemptDeps = {
  sql: Sql;
  log: Log;
  composer: Composer;
  signing: ReturnType<typeof createSigning>;
  judge: ReturnType<typeof createJudge>;
  /** Undefined in capture mode, where every email is simulated. */
  transport: Transport | undefined;
  simulator: Simulator;
  memory: Memory;
  /** Shares composing and signing between workspaces. */
  turns: Turns;
};

/** What the messages of one attempt share. */
type AttemptContext = {
  email: LeasedEmail;
  signer: Signer;
  /** Dropped once the last message is composed, so that only the composed message is in memory while it is sent. */
  content: { parts: string[] | undefined };
  memory: Reservation;
  signal: AbortSignal;
  site: string | undefined;
};

/** The recipients that get the same message. */
type Group = { rows: readonly Leased[]; utf8: boolean; last: boolean };

/** `undefined`: the recipient was not tried, and its lease is released. */
type Result = Settlement | undefined;

export function createAttempt(deps: AttemptDeps): DeliveryAttempt {
  const { judge, log } = deps;
  const contentOf = createLoader(async (keys: ContentKey[]) => {
    const found = await readContents(deps.sql, keys);
    return keys.map((key) => found.get(key.emailId));
  }, 50);

  return async (rows, signal, site) => {
    const settled = settleWithoutAttempt(rows);
    const open = rows.filter((row) => !settled.has(row));
    if (open.length > 0) for (const [row, result] of await deliver(open, signal, site)) settled.set(row, result);
    return rows.map((row) => settled.get(row));
  };

  function settleWithoutAttempt(rows: readonly Leased[]): Map<Leased, Result> {
    const settled = new Map<Leased, Result>();
    for (const row of rows) {
      if (row.suppression) settled.set(row, judge.suppress(row, row.suppression));
      else if (judge.isExpired(row)) settled.set(row, judge.expired(row));
    }
    return settled;
  }

  async function deliver(
    rows: readonly Leased[],
    signal: AbortSignal,
    site: string | undefined,
  ): Promise<Map<Leased, Result>> {
    const { email, destination } = rows[0]!;
    const memory = await deps.memory.reserve({ sizeBytes: email.sizeBytes, destination }, signal);
    try {
      const [parts, signer] = await loadContentAndSigner(email);
      if (!parts) return failAll(rows, "content_lost", contentLostReason);
      if (!signer) return failAll(rows, "no_dkim_key", noKeyReason(email));
      const context = { email, signer, content: { parts }, memory, signal, site };
      const settled = new Map<Leased, Result>();
      for (const group of groupByHeaderForm(rows)) {
        const results = await deliverGroup(context, group);
        for (const [i, row] of group.rows.entries()) settled.set(row, results[i]);
      }
      return settled;
    } catch (error) {
      if (isDatabaseAway(error)) throw error;
      const results = settleFault(error, rows, { signal, handedOver: false });
      return new Map(rows.map((row, i) => [row, results[i]]));
    } finally {
      memory.release();
    }
  }

  async function loadContentAndSigner(email: LeasedEmail) {
    return await Promise.all([
      contentOf({ workspaceId: email.workspaceId, emailId: email.id, day: email.contentDay }),
      deps.signing.signerOf(email.workspaceId, email.domainId),
    ]);
  }

  /** Catches its own errors, so that a failing group does not lose the results of an earlier one. */
  async function deliverGroup(context: AttemptContext, group: Group): Promise<Result[]> {
    const { email, signer, signal } = context;
    let handedOver = false;
    try {
      const raw = await compose(context, group);
      const returnPath = deps.signing.returnPath(email.id, signer.returnPathDomain);
      const { transport } = deps;
      if (email.test || !transport)
        return await Promise.all(group.rows.map((row) => deps.simulator(row, { raw, returnPath })));
      handedOver = true;
      const { evidence, conversation } = await transport({
        destination: group.rows[0]!.destination,
        returnPath,
        recipients: group.rows.map((row) => row.address),
        raw,
        utf8Headers: group.utf8,
        requireTls: email.envelope.requireTls,
        siteName: context.site,
        signal,
      });
      return judge.judgeAll(group.rows, evidence, conversation);
    } catch (error) {
      return settleFault(error, group.rows, { signal, handedOver });
    }
  }

  async function compose({ email, signer, content, memory, signal }: AttemptContext, group: Group) {
    const endTurn = await deps.turns.take(email.workspaceId, signal);
    const { raw } = await deps.composer
      .compose({ email: toOutgoing(email, content.parts!), signer: signer.source, smtputf8: group.utf8, signal })
      .finally(endTurn);
    if (group.last) content.parts = undefined;
    memory.shrink();
    return raw;
  }

  /** Settles an internal error as a temporary failure: the email is retried with the usual delays and expires like any other. */
  function settleFault(
    error: unknown,
    rows: readonly Leased[],
    at: { signal: AbortSignal; handedOver: boolean },
  ): Result[] {
    if (at.signal.aborted) return rows.map(() => undefined);
    log.error({ err: error, emailId: rows[0]!.emailId }, "a delivery attempt failed with an internal error");
    return rows.map((row) => judge.fault(row, at.handedOver));
  }

  function failAll(rows: readonly Leased[], category: string, reason: string): Map<Leased, Result> {
    log.warn({ emailId: rows[0]!.emailId, category }, reason);
    return new Map(rows.map((row) => [row, judge.fail(row, category, reason)]));
  }
}

const contentLostReason = "The content of this email was deleted because its retention period has passed.";

function noKeyReason({ domain }: LeasedEmail): string {
  return `${domain} no longer has a DKIM key, so the email cannot be signed. Check the domain and send the email again.`;
}

/** RFC 6532: a non-ASCII address in a header field needs SMTPUTF8 on every hop. The other recipients get a message without it. */
function groupByHeaderForm(rows: readonly Leased[]): Group[] {
  const needsUtf8 = (row: Leased) => /[^\x00-\x7f]/.test(row.address);
  const groups = [false, true]
    .map((utf8) => ({ utf8, rows: rows.filter((row) => needsUtf8(row) === utf8) }))
    .filter((group) => group.rows.length > 0);
  return groups.map((group, i) => ({ ...group, last: i === groups.length - 1 }));
}
