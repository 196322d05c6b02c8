/** Looks every few seconds for workspaces that come close to a quota, shares the counts of open streams between nodes, and sends the mail
 * to owners. Runs on every node with the role api. Started by app/assemble.ts. */
import type { Log } from "../ops/log.ts";
import { Problem } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import { createPeriodic } from "./periodic.ts";
import type { Quotas } from "./quotas.ts";
import { forgetOldOwnerMails, forgetOwnerMail, type OwnerMail, readOwnerMails } from "./store/notices.ts";
import { findNearLimits } from "./store/usage.ts";
import type { StreamQuota } from "./streams.ts";

const everyMs = 2000;

export function createQuotaWatch(deps: {
  sql: Sql;
  log: Log;
  quotas: Quotas;
  streams: StreamQuota;
  mail: OwnerMailer;
}) {
  const { sql, log, quotas, streams, mail } = deps;
  const loop = createPeriodic({
    log,
    everyMs,
    name: "watching the quotas",
    async round() {
      await streams.sync();
      const near = await findNearLimits(sql, quotas.defaults);
      if (near.length > 0) await quotas.reviewNow(near);
      await sendOwnerMails({ sql, log, mail });
      return false;
    },
  });
  return {
    start: loop.start,
    async stop(): Promise<void> {
      await loop.stop();
      await streams.stop();
      await quotas.idle();
    },
  };
}

/** The system sender: emails/system-mail.ts. */
export type OwnerMailer = {
  canSend(): Promise<boolean>;
  send(mail: { to: string; subject: string; body: string; idempotencyKey: string }): Promise<void>;
};

/** Sends the mail that store/notices.ts stored. The mail of each owner has an idempotency key, so that nodes that do the same, or a node that
 * was killed in between, send it once. */
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
