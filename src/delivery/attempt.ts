/** One attempt to deliver an email to one recipient, as a list of named steps. Each recipient has an SMTP transaction and a return path of
 * its own; the composed message is shared (message-source.ts). The delivery loop calls it and gets a settlement. */
import { type ContentKey, readContents } from "../emails/store/content.ts";
import { copyField } from "../mail/return-path.ts";
import type { ContentStore } from "../objects/content-store.ts";
import { StoreError } from "../objects/store-error.ts";
import type { Log } from "../ops/log.ts";
import { createLoader } from "../postgres/loader.ts";
import { isDatabaseAway, type Sql } from "../postgres/pool.ts";
import type { Journal } from "./journal.ts";
import type { createJudge } from "./judge.ts";
import type { AttemptResult, DeliveryAttempt } from "./loop.ts";
import { createMessageSources, type MessageSource, type MessageSourceDeps, Undeliverable } from "./message-source.ts";
import type { createSigning } from "./signing.ts";
import type { Leased } from "./store/lease.ts";
import type { Simulator, Transport } from "./transport.ts";
import type { Run } from "./watch.ts";

export type AttemptDeps = Omit<MessageSourceDeps, "contentOf" | "signing" | "hasObjects"> & {
  signing: ReturnType<typeof createSigning>;
  sql: Sql;
  /** Undefined: all content is in the database. */
  contents?: ContentStore;
  log: Log;
  judge: ReturnType<typeof createJudge>;
  /** Undefined in capture mode, where every email is simulated. */
  transport: Transport | undefined;
  simulator: Simulator;
  journal: Pick<Journal, "sent">;
};

export function createAttempt(deps: AttemptDeps): DeliveryAttempt {
  const { judge, log } = deps;
  const contentOf = createLoader(async (keys: ContentKey[]) => {
    const found = await readContents(deps.sql, keys, deps.contents);
    return keys.map((key) => found.get(key.emailId));
  }, 50);
  const sources = createMessageSources({ ...deps, contentOf, hasObjects: deps.contents !== undefined });

  return async (row, run) => {
    if (row.suppression) return judge.suppress(row, row.suppression);
    if (row.early) return undefined;
    if (judge.isExpired(row)) return judge.expired(row);
    return await deliver(row, run);
  };

  async function deliver(row: Leased, run: Run): Promise<AttemptResult> {
    const { email, destination } = row;
    const { signal } = run;
    const source = sources.open({ email, destination, smtputf8: needsUtf8(row), signal });
    let dotSent = false;
    try {
      if (email.test || !deps.transport) return await simulate(row, source);
      // A site that is known to answer gets the message at once. For others it is composed when they ask for it.
      if (!run.unproven) await source.load();
      run.dropContent = source.drop;
      run.progress.onDot = () => {
        dotSent = true;
        deps.journal.sent([row]);
        source.close();
      };
      const { evidence, conversation } = await deps.transport({
        destination,
        ...(await copyOf(row, source)),
        recipient: row.address,
        data: source,
        utf8Headers: needsUtf8(row),
        eightBit: email.envelope.submitted?.eightBit ?? false,
        requireTls: email.envelope.requireTls,
        siteName: run.site,
        attempts: row.attempts,
        progress: run.progress,
        signal,
      });
      return judge.judge(row, evidence, conversation);
    } catch (error) {
      return settleError(error, row, { signal, dotSent });
    } finally {
      run.dropContent = undefined;
      source.close();
    }
  }

  /** What this recipient's copy has of its own. Complaints often omit the return path, so a header field has a token too. The field is not
   * signed, so that one signature serves all copies. */
  async function copyOf(row: Leased, source: MessageSource): Promise<{ returnPath: string; prefix: string }> {
    const { returnPathDomain } = await source.signer();
    const returnPath = deps.signing.returnPath(row, returnPathDomain);
    return { returnPath, prefix: `${copyField}: ${deps.signing.copyToken(row)}\r\n` };
  }

  async function simulate(row: Leased, source: MessageSource): Promise<AttemptResult> {
    const raw = await source.load();
    const { returnPath, prefix } = await copyOf(row, source);
    return await deps.simulator(row, { raw, prefix, returnPath });
  }

  function settleError(error: unknown, row: Leased, at: { signal: AbortSignal; dotSent: boolean }): AttemptResult {
    const { emailId } = row;
    if (error instanceof StoreError && !at.dotSent) return judge.waitForContent(row, deps.contents?.problem()?.sinceMs);
    if (error instanceof Undeliverable) {
      log.warn({ emailId, category: error.category }, error.message);
      return judge.fail(row, error.category, error.message);
    }
    // Before the final dot the receiver cannot have the message, so the lease is released.
    if (!at.dotSent && (at.signal.aborted || isDatabaseAway(error))) return undefined;
    log.error({ err: error, emailId }, "a delivery attempt failed with an internal error");
    return judge.fault(row, at.dotSent);
  }
}

/** RFC 6532: a non-ASCII address in a header field needs SMTPUTF8 on every hop. The other recipients get a message without it. */
function needsUtf8(row: Leased): boolean {
  return /[^\x00-\x7f]/.test(row.address);
}
