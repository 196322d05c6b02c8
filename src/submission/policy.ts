/**
 * Submission takes mail from programs that speak SMTP, on ports of its own, and hands it to the accept path of the API (emails/accept.ts): the same
 * checks, quotas and events. Parts: logins.ts (who may send), replies.ts (problems as SMTP replies), mail/submitted/ (reads the message).
 * `createSubmission` is the policy of the SMTP server. Started by app/assemble/submission.ts. Continue with mail/submitted/prepare.ts.
 */
import type { Accept } from "../emails/accept.ts";
import { submitterOf } from "../emails/wire.ts";
import { ownerOf } from "../http/call-shares.ts";
import type { Caller } from "../http/caller.ts";
import type { CallLimit } from "../http/gate.ts";
import { parseAddress } from "../mail/address.ts";
import { isCheap } from "../mail/submitted/cost.ts";
import { SubmittedProblem } from "../mail/submitted/fields.ts";
import { prepare, type Submitted } from "../mail/submitted/prepare.ts";
import type { Log } from "../ops/log.ts";
import { Problem } from "../ops/problem.ts";
import { type CallScope, inCallScope } from "../postgres/call-scope.ts";
import { toWireId } from "../postgres/ids.ts";
import { isDatabaseAway } from "../postgres/outage.ts";
import { createBudget } from "../shares/budget.ts";
import type { Account, IncomingMail, RemoteClient, ServerPolicy, Submission } from "../smtp/server/policy.ts";
import type { Logins } from "./logins.ts";
import { internalReply, outageReply, replyOf } from "./replies.ts";

export type SubmissionDeps = {
  log: Log;
  logins: Logins;
  accept: Pick<Accept, "acceptSubmitted">;
  callLimit: CallLimit;
  /** Prepares an expensive message in a thread; a reply refuses or defers it. */
  prepareLarge(owner: string, raw: Buffer, recipients: readonly string[]): Promise<Submitted | { reply: string }>;
  allowsPlaintext(client: RemoteClient): boolean;
  /** Sessions that have logged in, of all workspaces and of one: tenants may share an address. */
  sessions: { total: number; perOwner: number };
};

/** A check of the key that is older counts no more: a message may arrive slowly. */
const checkedForMs = 1000;

export function createSubmission(deps: SubmissionDeps): { submission: Submission; policy: ServerPolicy } {
  const { logins, log } = deps;
  /** The check of the key for the message that a session has begun. It runs while the message arrives. */
  const checks = new WeakMap<Account, { atMs: number; caller: Promise<Caller> }>();

  const sessions = createBudget(deps.sessions);

  function beginCheck(account: Account, client: RemoteClient): void {
    const caller = logins.check(account.login, client);
    // `callerOf` handles the error, if the message arrives.
    caller.catch(() => {});
    checks.set(account, { atMs: performance.now(), caller });
  }

  async function callerOf(account: Account, client: RemoteClient): Promise<Caller> {
    const begun = checks.get(account);
    checks.delete(account);
    const isRecent = begun !== undefined && performance.now() - begun.atMs < checkedForMs;
    return await (isRecent ? begun.caller : logins.check(account.login, client));
  }

  async function accept({ account, client, recipients, message }: IncomingMail): Promise<string> {
    const caller = await callerOf(account!, client);
    await deps.callLimit.take(ownerOf(caller), performance.now());
    const prepared = isCheap(message)
      ? prepare(message, recipients)
      : await deps.prepareLarge(caller.workspaceId, message, recipients);
    if ("reply" in prepared) return prepared.reply;
    const { id, repeated } = await inCallScope(scopeOf(caller), () =>
      deps.accept.acceptSubmitted({ message: prepared, recipients }, submitterOf(caller)),
    );
    return `250 2.0.0 queued as ${toWireId("email", id)}${repeated ? ", as before" : ""}`;
  }

  return {
    submission: {
      allowsPlaintext: deps.allowsPlaintext,
      async authenticate(login, client) {
        try {
          const caller = await logins.logIn(login, client);
          if ("reply" in caller) return caller;
          const owner = ownerOf(caller);
          if (!sessions.tryTake(owner, 1)) return { reply: tooManySessions };
          return { owner, login, onEnd: () => sessions.give(owner, 1) };
        } catch (error) {
          return { reply: failureReply(error, log, "454 4.7.0 the login cannot be checked now, try again later") };
        }
      },
    },
    policy: {
      async recipient(address, { account, client }) {
        if (!checks.has(account!)) beginCheck(account!, client);
        const read = parseAddress(address);
        return read.ok ? { address: read.address.address } : { reply: `553 5.1.3 ${read.reason}` };
      },
      async message(mail) {
        try {
          return await accept(mail);
        } catch (error) {
          if (error instanceof SubmittedProblem) return `554 ${error.status} ${error.message}`;
          return failureReply(error, log, internalReply);
        }
      },
    },
  };
}

const tooManySessions =
  "454 4.7.0 too many sessions of this workspace are open: close some, or send more messages on each";

function failureReply(error: unknown, log: Log, fallback: string): string {
  if (error instanceof Problem) return replyOf(error);
  if (isDatabaseAway(error)) return outageReply(error);
  log.error({ err: error }, "a submission failed with an internal error");
  return fallback;
}

/** The share of the database connections that the message uses. Its client sets no deadline. */
function scopeOf(caller: Caller): CallScope {
  return { owner: ownerOf(caller), committed: 0, timeLeftMs: () => undefined, check() {}, sent() {} };
}
