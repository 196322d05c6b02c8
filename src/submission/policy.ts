/**
 * Submission takes mail from programs that speak SMTP, on ports of its own, and hands it to the accept path of the API (emails/accept.ts): the same
 * checks, quotas and events. Parts: logins.ts (who may send), replies.ts (problems as SMTP replies), mail/submitted/ (reads the message).
 * `createSubmission` is the policy of the SMTP server. Started by app/assemble/submission.ts. Continue with mail/submitted/prepare.ts.
 */
import type { Accept } from "../emails/accept.ts";
import { submitterOf } from "../emails/wire.ts";
import { ownerOf } from "../http/call-shares.ts";
import type { CallLimit } from "../http/gate.ts";
import { parseAddress } from "../mail/address.ts";
import { SubmittedProblem } from "../mail/submitted/fields.ts";
import { prepare, type Submitted } from "../mail/submitted/prepare.ts";
import type { Log } from "../ops/log.ts";
import { Problem } from "../ops/problem.ts";
import { toWireId } from "../postgres/ids.ts";
import { isDatabaseAway } from "../postgres/pool.ts";
import type { IncomingMail, RemoteClient, ServerPolicy, Submission } from "../smtp/server/policy.ts";
import type { Logins } from "./logins.ts";
import { internalReply, replyOf } from "./replies.ts";

export type SubmissionDeps = {
  log: Log;
  logins: Logins;
  accept: Pick<Accept, "acceptSubmitted">;
  callLimit: CallLimit;
  /** Prepares a large message in a thread; a reply refuses or defers it. */
  prepareLarge(owner: string, raw: Buffer, recipients: readonly string[]): Promise<Submitted | { reply: string }>;
  allowsPlaintext(client: RemoteClient): boolean;
  offersTls(client: RemoteClient): boolean;
};

/** Preparing so many octets blocks the event loop for less than a millisecond, except for a few that need encoding. */
const inlineBytes = 64 * 1024;

export function createSubmission(deps: SubmissionDeps): { submission: Submission; policy: ServerPolicy } {
  const { logins, log } = deps;

  async function accept({ account, client, recipients, message }: IncomingMail): Promise<string> {
    const caller = await logins.check(account!.login, client);
    deps.callLimit.take(ownerOf(caller), performance.now());
    const prepared =
      message.length <= inlineBytes
        ? prepare(message, recipients)
        : await deps.prepareLarge(caller.workspaceId, message, recipients);
    if ("reply" in prepared) return prepared.reply;
    const { id, repeated } = await deps.accept.acceptSubmitted({ message: prepared, recipients }, submitterOf(caller));
    return `250 2.0.0 queued as ${toWireId("email", id)}${repeated ? ", as before" : ""}`;
  }

  return {
    submission: {
      allowsPlaintext: deps.allowsPlaintext,
      offersTls: deps.offersTls,
      async authenticate(login, client) {
        try {
          const caller = await logins.logIn(login, client);
          return "reply" in caller ? caller : { owner: caller.workspaceId, login };
        } catch (error) {
          return { reply: failureReply(error, log, "454 4.7.0 the login cannot be checked now, try again later") };
        }
      },
    },
    policy: {
      async recipient(address) {
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

function failureReply(error: unknown, log: Log, fallback: string): string {
  if (error instanceof Problem) return replyOf(error);
  if (!isDatabaseAway(error)) log.error({ err: error }, "a submission failed with an internal error");
  return fallback;
}
