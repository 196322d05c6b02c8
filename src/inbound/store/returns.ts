/** Writes the results of reports: bounces after delivery, and complaints. Status, suppression and event in one statement each. Called by
 * ../reports.ts. */
import { retrying, type Sql } from "../../postgres/pool.ts";

export type ReturnedRecipient = {
  position: number;
  reply: string;
  remoteMx: string;
  /** The address to add to the suppression list. */
  suppress: string | undefined;
  event: { id: string; payload: Record<string, unknown> };
};

/**
 * Marks delivered or sent recipients as bounced and returns their positions. Other recipients and the email's status do not change
 * (docs/states.md). Locks in the order of delivery/store/settle.ts: recipients, email, counter.
 */
export async function settleReturned(
  sql: Sql,
  returned: { workspaceId: string; emailId: string; recipients: readonly ReturnedRecipient[] },
): Promise<number[]> {
  const input = JSON.stringify(
    returned.recipients.map(({ position, reply, remoteMx, suppress, event }) => ({
      position,
      reply,
      remote_mx: remoteMx || undefined,
      suppress,
      event_id: event.id,
      payload: event.payload,
    })),
  );
  const { workspaceId, emailId } = returned;
  const rows = await retrying(
    () => sql.write<{ position: number }[]>`
    with input as (
      select * from json_to_recordset((${input}::text)::json)
        as x(position smallint, reply text, remote_mx text, suppress text, event_id uuid, payload jsonb)
    ), locked as materialized (
      select i.* from input i join recipients r on r.workspace_id = ${workspaceId} and r.email_id = ${emailId} and r.position = i.position
      where r.status in ('delivered', 'sent') order by r.position for update of r
    ), mail as materialized (
      select e.message_id, e.metadata from emails e where e.workspace_id = ${workspaceId} and e.id = ${emailId}
        and (select count(*) from locked) > 0 for update
    ), bump as (
      update event_counters c set last = c.last + (select count(*) from locked)
      where c.workspace_id = ${workspaceId} and (select count(*) from mail) > 0 returning c.last - (select count(*) from locked) as base
    ), recipient as (
      update recipients r set status = 'bounced', reply = l.reply, remote_mx = coalesce(l.remote_mx, r.remote_mx), settled_at = now()
      from locked l where r.workspace_id = ${workspaceId} and r.email_id = ${emailId} and r.position = l.position
    ), email as (
      update emails set updated_at = now() where workspace_id = ${workspaceId} and id = ${emailId} and (select count(*) from mail) > 0
    ), listed as (
      insert into suppressions (workspace_id, address, reason, source_event)
      select distinct on (suppress) ${workspaceId}::uuid, suppress, 'bounce', event_id from locked where suppress is not null order by suppress
      on conflict do nothing
    ), event as (
      insert into events (workspace_id, number, id, type, email_id, message_id, metadata, payload, created_at)
      select ${workspaceId}::uuid, b.base + row_number() over (order by l.position), l.event_id, 'email.bounced', ${emailId}::uuid,
        m.message_id, m.metadata, l.payload, (select stamp_time())
      from locked l, bump b, mail m
    )
    select position from locked`,
  );
  return rows.map((row) => row.position);
}

export type NewComplaint = {
  workspaceId: string;
  email: { id: string; messageId: string; metadata: Record<string, string> };
  /** Identifies the report, so that a repeated transmission is recognized. */
  fingerprint: string;
  addresses: readonly string[];
  event: { id: string; payload: Record<string, unknown> };
};

/** False: the same report has been received before. */
export async function storeComplaint(sql: Sql, complaint: NewComplaint): Promise<boolean> {
  const { workspaceId, email, event } = complaint;
  const rows = await retrying(
    () => sql.write`
    with seen as (
      insert into inbound_seen (workspace_id, fingerprint, inbound_id, created_at)
      values (${workspaceId}, ${complaint.fingerprint}, ${event.id}, service_time())
      on conflict do nothing returning 1
    ), bump as (
      update event_counters set last = last + 1 where workspace_id = ${workspaceId} and (select count(*) from seen) > 0 returning last
    ), listed as (
      insert into suppressions (workspace_id, address, reason, source_event)
      select distinct ${workspaceId}::uuid, lower(a.address), 'complaint', ${event.id}::uuid
      from unnest(${complaint.addresses as string[]}::text[]) as a(address) where (select count(*) from seen) > 0
      on conflict do nothing
    )
    insert into events (workspace_id, number, id, type, email_id, message_id, metadata, payload, created_at)
    select ${workspaceId}, last, ${event.id}, 'email.complained', ${email.id}::uuid, ${email.messageId}::text,
      ${JSON.stringify(email.metadata)}::text::jsonb, ${JSON.stringify(event.payload)}::text::jsonb, (select stamp_time()) from bump
    returning 1`,
  );
  return rows.length > 0;
}
