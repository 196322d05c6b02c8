/** Takes due follow-ups of simulated recipients. The caller writes their events in the same transaction, so that each is written once. */
import { countColumns, countComplaint, countedNow } from "../../emails/store/outcomes.ts";
import type { Sql } from "../../postgres/pool.ts";

export type FollowUp = {
  workspaceId: string;
  emailId: string;
  position: number;
  domainId: string;
  domain: string;
  kind: "complaint" | "reply";
  address: string;
  fromAddress: string;
  subject: string;
  messageId: string;
  /** Of the email, oldest first. */
  references: string[];
  metadata: Record<string, string>;
};

/** Index follow_ups_due. */
export async function areFollowUpsDue(sql: Sql): Promise<boolean> {
  return (await sql`select 1 from follow_ups where due_at <= (select service_time()) limit 1`).length > 0;
}

/** Deletes and returns due rows. They are locked until the caller's transaction ends; other nodes skip them. Index follow_ups_due. */
export async function takeFollowUps(tx: Sql, limit: number): Promise<FollowUp[]> {
  return await tx<FollowUp[]>`
    with due as (
      delete from follow_ups where (workspace_id, email_id, position) in (
        select workspace_id, email_id, position from follow_ups where due_at <= (select service_time()) order by due_at limit ${limit} for update skip locked)
      returning *
    )
    select d.workspace_id as "workspaceId", d.email_id as "emailId", d.position, d.kind, e.domain_id as "domainId", e.domain, r.address, e.from_address as "fromAddress", e.subject,
      e.message_id as "messageId", coalesce(e.envelope -> 'references', '[]') as references, e.metadata
    from due d join emails e on e.workspace_id = d.workspace_id and e.id = d.email_id
    join recipients r on r.workspace_id = d.workspace_id and r.email_id = d.email_id and r.position = d.position
    order by d.workspace_id, d.email_id`;
}

/** Counts the complaint or the reply on its email. Call it in the order of the emails' ids and before events are appended, because
 * delivery/store/settle.ts takes its locks in this order. */
export async function countFollowUp(tx: Sql, { workspaceId, emailId, kind }: FollowUp): Promise<void> {
  if (kind === "reply") {
    await tx`update emails e set replied = true, ${countedNow(tx)} where workspace_id = ${workspaceId} and id = ${emailId}`;
    return;
  }
  await tx`
    with mail as materialized (
      select ${countColumns(tx)} from emails where workspace_id = ${workspaceId} and id = ${emailId} for update
    ), ${countComplaint(tx)}
    select 1`;
}
