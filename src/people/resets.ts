/** Sends links to set a new password. The answer is the same whether the address has an account or not; only an account gets mail.
 * Called by people.ts, and for links without mail by the command line. */
import type { SystemMail } from "../emails/system-mail.ts";
import { makeToken } from "../ops/one-time-token.ts";
import { invalid } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import { invalidEmail, readEmail } from "../workspaces/rules.ts";
import { createAttemptLimit } from "./limits.ts";
import { linkLifetimeMs, linkTo, resetMail } from "./links.ts";
import { addLink, findPerson } from "./store.ts";

export type ResetDeps = {
  sql: Sql;
  mail: SystemMail;
  base(): string;
  runInBackground(work: Promise<void>): void;
};

export function createResets(deps: ResetDeps) {
  const byAddress = createAttemptLimit({ burst: 20, periodMs: 60_000 });
  const byAccount = createAttemptLimit({ burst: 3, periodMs: 600_000 });

  async function send(email: string): Promise<void> {
    if (!(await findPerson(deps.sql, email))) return;
    const link = await makeResetLink(deps.sql, email, deps.base());
    await deps.mail.send({ to: email, ...resetMail(link) });
  }

  return {
    /** Returns the message for the person, which does not depend on whether the account exists. */
    async request(text: string, address: string): Promise<string> {
      byAddress.check(address, performance.now());
      byAddress.take(address, performance.now());
      const email = readEmail(text);
      if (!email) throw invalid([invalidEmail]);
      if (!(await deps.mail.canSend()))
        return "This service cannot send mail yet. Its operator can create a link for you with: posthorn people reset-password EMAIL";
      if (mayGetMail(email)) deps.runInBackground(send(email));
      return "If this address has an account, a link to set a new password was sent to it.";
    },
  };

  /** Limits the mail to one mailbox. The answer does not reveal the limit. */
  function mayGetMail(email: string): boolean {
    try {
      byAccount.check(email, performance.now());
    } catch {
      return false;
    }
    byAccount.take(email, performance.now());
    return true;
  }
}

/** Also called by the command line, which prints the link instead of sending it. */
export async function makeResetLink(sql: Sql, email: string, base: string): Promise<string> {
  const token = makeToken();
  await addLink(sql, { token, kind: "reset", email, forMs: linkLifetimeMs.reset });
  return linkTo(base, "reset", token);
}
