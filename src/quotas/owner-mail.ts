/** Sends mail to the owners of workspaces that store/notices.ts stored. The mail of each owner has an idempotency key, so that nodes that
 * do the same, or a node that was killed in between, send it once. Called by watch.ts. */
import type { Log } from "../ops/log.ts";
import { Problem } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import { forgetOldOwnerMails, forgetOwnerMail, type OwnerMail, readOwnerMails } from "./store/notices.ts";

/** The system sender: emails/system-mail.ts. */
export type OwnerMailer = {
  canSend(): Promise<boolean>;
  send(mail: { to: string; subject: string; body: string; idempotencyKey: string }): Promise<void>;
};

export async function sendOwnerMails(deps: { sql: Sql; log: Log; mail: OwnerMailer }): Promise<void> {
  await forgetOldOwnerMails(deps.sql);
  const waiting = await readOwnerMails(deps.sql);
  if (waiting.length === 0 || !(await deps.mail.canSend())) return;
  for (const mail of waiting) {
    await sendOne(deps, mail);
    await forgetOwnerMail(deps.sql, mail.id);
  }
}

async function sendOne(
  { log, mail }: { log: Log; mail: OwnerMailer },
  { id, subject, body, owners }: OwnerMail,
): Promise<void> {
  for (const to of owners) {
    try {
      await mail.send({ to, subject, body, idempotencyKey: `owner-mail-${id}-${to}`.slice(0, 200) });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      log.warn({ reason: error.message }, "a mail to the owner of a workspace was refused");
    }
  }
}
