/** One attempt: an email's recipients at one destination, in named steps. Whatever happens comes back as a settlement for each. */
import { toOutgoing } from "../accept/outgoing.ts";
import type { Log } from "../ops/log.ts";
import { type ContentKey, readContents } from "../store/content.ts";
import { isDatabaseAway, type Sql } from "../store/db.ts";
import type { Leased, LeasedEmail } from "../store/lease.ts";
import { createLoader } from "../store/loader.ts";
import type { Settlement } from "../store/settle.ts";
import type { Composer } from "./compose-pool.ts";
import type { createJudge } from "./judge.ts";
import type { Attempt } from "./loop.ts";
import type { Held, Memory } from "./memory.ts";
import type { createSigning, Signer } from "./signing.ts";
import type { Simulator } from "./simulator.ts";
import type { Transport } from "./transport.ts";
import type { Turns } from "./turns.ts";

export type AttemptDeps = {
  sql: Sql;
  log: Log;
  composer: Composer;
  signing: ReturnType<typeof createSigning>;
  judge: ReturnType<typeof createJudge>;
  /** Undefined in capture mode: every email is simulated there. */
  transport: Transport | undefined;
  simulator: Simulator;
  memory: Memory;
  /** For composing and signing. */
  turns: Turns;
};

/** Let go of when the message is composed: while it is sent, it is in memory once. */
type Content = { parts: string[] | undefined };

/** Recipients of one email that travel in one transaction, and what is needed for it. */
type Load = {
  email: LeasedEmail;
  content: Content;
  /** Nobody composes this email after it. */
  last: boolean;
  signer: Signer;
  rows: readonly Leased[];
  utf8: boolean;
  memory: Held;
  signal: AbortSignal;
  site: string | undefined;
};

export function createAttempt(deps: AttemptDeps): Attempt {
  const { judge } = deps;
  const contentOf = createLoader(async (keys: ContentKey[]) => {
    const found = await readContents(deps.sql, keys);
    return keys.map((key) => found.get(key.emailId));
  }, 50);

  return async (rows, signal, site) => {
    const results: (Settlement | undefined)[] = rows.map((row) => {
      if (row.suppression) return judge.suppress(row, row.suppression);
      return judge.isExpired(row) ? judge.expired(row) : undefined;
    });
    const left = rows.filter((_, i) => !results[i]);
    if (left.length === 0) return results;
    const email = left[0]!.email;
    const { destination } = left[0]!;
    const memory = await deps.memory.hold({ sizeBytes: email.sizeBytes, destination }, signal);
    try {
      const settled = await tryToDeliver(email, left, { memory, signal, site }).catch((error) => {
        if (isDatabaseAway(error)) throw error;
        return new Map(zip(left, tripped(error, left, { signal, handedOver: false })));
      });
      for (const [i, row] of rows.entries()) results[i] ??= settled.get(row);
      return results;
    } finally {
      memory.release();
    }
  };

  async function tryToDeliver(
    email: LeasedEmail,
    rows: readonly Leased[],
    { memory, signal, site }: { memory: Held; signal: AbortSignal; site: string | undefined },
  ): Promise<Map<Leased, Settlement | undefined>> {
    const [content, signer] = await Promise.all([
      contentOf({ workspaceId: email.workspaceId, emailId: email.id, day: email.contentDay }).then(held),
      deps.signing.signerOf(email.workspaceId, email.domainId),
    ]);
    if (!content) return failAll(rows, "content_lost", "The content of this email is past the time it is kept.");
    if (!signer)
      return failAll(
        rows,
        "no_dkim_key",
        `${email.domain} has no DKIM key any more, so that the email cannot be signed.`,
      );
    const settled = new Map<Leased, Settlement | undefined>();
    const groups = byHeaderForm(rows);
    for (const { utf8, group } of groups) {
      const last = group === groups.at(-1)!.group;
      // What the first group came to must not be lost with the second.
      const outcomes = await carryOrExplain({ email, content, last, signer, rows: group, utf8, memory, signal, site });
      for (const [i, row] of group.entries()) settled.set(row, outcomes[i]);
    }
    return settled;
  }

  async function carryOrExplain(input: Load): Promise<(Settlement | undefined)[]> {
    const progress = { handedOver: false };
    try {
      return await carry(input, progress);
    } catch (error) {
      return tripped(error, input.rows, { signal: input.signal, handedOver: progress.handedOver });
    }
  }

  /** An email that trips over a fault of ours waits like any other and ends like any other: never tried for ever, never without a word. */
  function tripped(error: unknown, rows: readonly Leased[], at: { signal: AbortSignal; handedOver: boolean }) {
    if (at.signal.aborted) return rows.map(() => undefined);
    deps.log.error({ err: error, emailId: rows[0]!.emailId }, "an attempt failed by a fault of ours");
    return rows.map((row) => judge.fault(row, at.handedOver));
  }

  async function carry(input: Load, progress: { handedOver: boolean }): Promise<(Settlement | undefined)[]> {
    const { email, content, signer, rows, utf8, signal } = input;
    const giveBack = await deps.turns.take(email.workspaceId, signal);
    const { raw } = await deps.composer
      .compose({ email: toOutgoing(email, content.parts!), signer: signer.source, smtputf8: utf8, signal })
      .finally(giveBack);
    if (input.last) content.parts = undefined;
    input.memory.shrink();
    const returnPath = deps.signing.returnPath(email.id, signer.returnPathDomain);
    if (email.test || !deps.transport)
      return await Promise.all(rows.map((row) => deps.simulator(row, { raw, returnPath })));
    progress.handedOver = true;
    const { evidence, conversation } = await deps.transport({
      destination: rows[0]!.destination,
      returnPath,
      recipients: rows.map((row) => row.address),
      raw,
      utf8Headers: utf8,
      requireTls: email.envelope.requireTls,
      siteName: input.site,
      signal,
    });
    return judge.judgeAll(rows, evidence, conversation);
  }

  function failAll(rows: readonly Leased[], category: string, reason: string): Map<Leased, Settlement> {
    deps.log.warn({ emailId: rows[0]!.emailId, category }, reason);
    return new Map(rows.map((row) => [row, judge.fail(row, category, reason)]));
  }
}

function held(parts: string[] | undefined): Content | undefined {
  return parts && { parts };
}

function zip<A, B>(left: readonly A[], right: readonly B[]): [A, B][] {
  return left.map((one, i) => [one, right[i]!]);
}

/** RFC 6532: a header with a non-ASCII mailbox needs SMTPUTF8 all the way; the others must not suffer for it. */
function byHeaderForm(rows: readonly Leased[]): { utf8: boolean; group: Leased[] }[] {
  const needs = (row: Leased) => /[^\x00-\x7f]/.test(row.address);
  return [false, true]
    .map((utf8) => ({ utf8, group: rows.filter((row) => needs(row) === utf8) }))
    .filter(({ group }) => group.length > 0);
}
