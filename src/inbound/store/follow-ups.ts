/** Takes due follow-ups of simulated recipients. The caller writes their events in the same transaction, so that each is written once. */
import type { Sql } from "../../postgres/pool.ts";

export type FollowUp = {
  workspaceId: string;
  emailId: string;
  kind: "complaint" | "reply";
  address: string;
  fromAddress: string;
  subject: string;
  messageId: string;
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
    select d.workspace_id as "workspaceId", d.email_id as "emailId", d.kind, r.address, e.from_address as "fromAddress", e.subject,
      e.message_id as "messageId", e.metadata
    from due d join emails e on e.workspace_id = d.workspace_id and e.id = d.email_id
    join recipients r on r.workspace_id = d.workspace_id and r.email_id = d.email_id and r.position = d.position
    order by d.workspace_id, d.email_id`;
}
