/** Sends links to set a new password. The answer is the same whether the address has an account or not; only an account gets mail.
 * Called by people.ts, and for links without mail by the command line. */
import { audited } from "../audit/record.ts";
import { makeToken } from "../ops/one-time-token.ts";
import { invalid } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import { createClientLimit } from "../shares/guessing.ts";
import { invalidEmail, readEmail } from "../workspaces/rules.ts";
import type { AccountMail } from "./account-mail.ts";
import { linkLifetimeMs, linkTo, resetMail } from "./links.ts";
import { addLink, findPerson } from "./store.ts";

export type ResetDeps = { sql: Sql; mail: AccountMail; base(): string };

export function createResets(deps: ResetDeps) {
  const byClient = createClientLimit({ burst: 20, periodMs: 60_000 }, "password resets");

  /** Runs after the answer: neither its text nor its duration depends on whether there is an account. */
  async function send(email: string, address: string): Promise<void> {
    const person = await findPerson(deps.sql, email);
    if (!person) return;
    const link = await audited(
      deps.sql,
      { kind: "stranger", personId: person.id, address },
      (tx) => makeResetLink(tx, email, { base: deps.base(), byMail: true }),
      () => ({ action: "password.reset_requested", target: { kind: "person", id: person.id } }),
    );
    await deps.mail.send(email, resetMail(link));
  }

  return {
    /** Returns the message for the person, which does not depend on whether the account exists. */
    async request(text: string, address: string): Promise<string> {
      byClient.check(address, performance.now());
      byClient.take(address, performance.now());
      const email = readEmail(text);
      if (!email) throw invalid([invalidEmail]);
      if (!(await deps.mail.canSend()))
        return "This service cannot send mail yet. Its operator can create a link for you with: posthorn people reset-password EMAIL";
      await deps.mail.checkClient(address);
      deps.mail.sendLater({ kind: "reset", email, address }, () => send(email, address));
      return "If this address has an account, a link to set a new password was sent to it.";
    },
  };
}

/** Also called by the command line, which prints the link instead of sending it. */
export async function makeResetLink(
  sql: Sql,
  email: string,
  { base, byMail }: { base: string; byMail: boolean },
): Promise<string> {
  const token = makeToken();
  await addLink(sql, { token, kind: "reset", email, forMs: linkLifetimeMs.reset, byMail });
  return linkTo(base, "reset", token);
}
