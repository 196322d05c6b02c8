/** Asking for a new password: the answer is the same for everybody, the mail goes only to whom it concerns. */
import { invalid } from "../rules/problem.ts";
import type { Sql } from "../store/db.ts";
import { findPerson } from "../store/people.ts";
import { addLink, makeToken } from "../store/people-links.ts";
import { createCounter } from "./attempts.ts";
import { noAddress, readEmail } from "./input.ts";
import { resetLetter } from "./letters.ts";
import { linkForMs, linkTo } from "./links.ts";
import type { SystemMail } from "./mail.ts";

export type ResetDeps = {
  sql: Sql;
  mail: SystemMail;
  base(): string;
  nowMs(): number;
  later(work: Promise<void>): void;
};

export function createResets(deps: ResetDeps) {
  const byAddress = createCounter({ burst: 20, perMs: 60_000 });
  const byAccount = createCounter({ burst: 3, perMs: 600_000 });

  async function send(email: string): Promise<void> {
    if (!(await findPerson(deps.sql, email))) return;
    const link = await makeResetLink(deps.sql, email, deps.base());
    await deps.mail.send({ to: email, ...resetLetter(link) });
  }

  return {
    /** What to tell the person, whoever it is. */
    async request(text: string, address: string): Promise<string> {
      byAddress.check(address, deps.nowMs());
      byAddress.take(address, deps.nowMs());
      const email = readEmail(text);
      if (!email) throw invalid([noAddress]);
      if (!(await deps.mail.canSend()))
        return "No mail can be sent from here yet. Whoever runs this service makes a link for you with: posthorn people reset-password EMAIL";
      if (mayHaveMore(email)) deps.later(send(email));
      return "If this address has an account, a link to set a new password was sent to it.";
    },
  };

  /** A mailbox is not flooded; that is not told either. */
  function mayHaveMore(email: string): boolean {
    try {
      byAccount.check(email, deps.nowMs());
    } catch {
      return false;
    }
    byAccount.take(email, deps.nowMs());
    return true;
  }
}

/** Also for the command line, where no mail can be sent. */
export async function makeResetLink(sql: Sql, email: string, base: string): Promise<string> {
  const token = makeToken();
  await addLink(sql, { token, kind: "reset", email, forMs: linkForMs.reset });
  return linkTo(base, "reset", token);
}
