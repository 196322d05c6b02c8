/** The SQL that counts mail about accounts, for account-mail.ts: on all nodes, across restarts, by service time. */
import type { Sql } from "../../postgres/pool.ts";
import type { AccountMailCause, PastMail } from "../rules/account-mail.ts";

/** An advisory lock number that no other code uses. */
const accountMailLock = 0x6d61696c; // "mail"

/**
 * Counts the mail unless `judge` refuses it. One transaction at a time on all nodes, so that concurrent requests cannot pass a limit
 * together; the limits keep these transactions rare.
 */
export async function takeAccountMail<Refusal>(
  sql: Sql,
  mail: AccountMailCause & { id: string },
  judge: (past: readonly PastMail[]) => Refusal | undefined,
): Promise<Refusal | undefined> {
  return await sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${accountMailLock})`;
    const refusal = judge(await listAccountMail(tx, mail));
    if (refusal !== undefined) return refusal;
    await tx`insert into account_mail (id, kind, email, person_id, client)
      values (${mail.id}, ${mail.kind}, ${mail.email}, ${mail.personId ?? null}, ${mail.client ?? null})`;
    return undefined;
  });
}

/** The mail of the last day with the same recipient, inviter or client; the limits keep it short (indexes account_mail_by_email,
 * account_mail_by_person, account_mail_by_client). */
export async function listAccountMail(sql: Sql, mail: AccountMailCause): Promise<PastMail[]> {
  return await sql<PastMail[]>`
    select kind, email, person_id as "personId", client,
      (extract(epoch from (select service_time()) - counted_at) * 1000)::float8 as "ageMs"
    from account_mail where counted_at > (select service_time()) - interval '1 day'
      and (email = ${mail.email} or person_id = ${mail.personId ?? null} or client = ${mail.client ?? null})`;
}
