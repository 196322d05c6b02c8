/** Sends mail about accounts within its limits, and does the work for strangers in turn. rules/account-mail.ts has the limits. Called by
 * sign-up.ts, resets.ts and invitations.ts. */
import type { SystemMail } from "../emails/system-mail.ts";
import type { Log } from "../ops/log.ts";
import { makeUuid } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import { networksOf } from "../shares/address.ts";
import { createBudget } from "../shares/budget.ts";
import { tooMany } from "../shares/guessing.ts";
import type { MailText } from "./links.ts";
import { type AccountMailCause, type AccountMailRefusal, judgeAccountMail } from "./rules/account-mail.ts";
import { listAccountMail, takeAccountMail } from "./store/account-mail.ts";

export type AccountMail = {
  canSend: SystemMail["canSend"];
  send(to: string, text: MailText, metadata?: Record<string, string>): Promise<void>;
  /** Counts one invitation. Returns the limit that is reached, in which case nothing is counted. */
  take(cause: AccountMailCause & { personId: string }): Promise<AccountMailRefusal | undefined>;
  /** Throws with the time to wait when the client has caused as much mail as it may today. Counts nothing. */
  checkClient(address: string): Promise<void>;
  /**
   * Counts a mail that a stranger asked for and runs `work`, after the answer: its content and its timing must not reveal whether the
   * address has an account. When a limit is reached, no mail is sent, and the answer does not reveal that either.
   */
  sendLater(request: { kind: "sign_up" | "reset"; email: string; address: string }, work: () => Promise<void>): void;
  /** Waits for mail that is being sent in the background. */
  stop(): Promise<void>;
};

/** Counting and background work use at most this many connections to the database. */
const maxRunning = 2;

export function createAccountMail(deps: { sql: Sql; log: Log; mail: SystemMail; nowMs(): number }): AccountMail {
  const { sql, mail } = deps;
  const turns = createBudget({ total: maxRunning });
  const running = new Set<Promise<void>>();

  const take = (cause: AccountMailCause) =>
    takeAccountMail(sql, { ...cause, id: makeUuid(deps.nowMs()) }, (past) => judgeAccountMail(cause, past));

  function runInBackground(owner: string, work: () => Promise<void>): void {
    const watched: Promise<void> = turns
      .run(owner, work)
      .catch((error) => deps.log.warn({ err: error }, "could not send an account email"))
      .finally(() => running.delete(watched));
    running.add(watched);
  }

  return {
    canSend: mail.canSend,
    send: (to, text, metadata) => mail.send({ to, ...text, metadata }),
    take: (cause) => turns.run(cause.personId, () => take(cause)),
    async checkClient(address) {
      const cause = { kind: "reset", email: "", personId: undefined, client: networksOf(address).site } as const;
      const refused = judgeAccountMail(cause, await listAccountMail(sql, cause));
      if (refused) throw tooMany("Your network has requested too much account mail today.", refused.retryAfterMs);
    },
    sendLater({ kind, email, address }, work) {
      const client = networksOf(address).site;
      runInBackground(client, async () => {
        const refused = await take({ kind, email, personId: undefined, client });
        if (refused) deps.log.debug({ kind, email, by: refused.by }, "an account email was not sent: limit reached");
        else await work();
      });
    },
    async stop() {
      await Promise.allSettled(running);
    },
  };
}
