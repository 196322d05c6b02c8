/** Writes the results of reports: bounces after delivery, and complaints. Status, suppression and event in one statement each. Called by
 * ../reports.ts. */
import { countColumns, countComplaint, countMoves } from "../../emails/store/outcomes.ts";
import { retrying, type Sql } from "../../postgres/pool.ts";

export type BouncedCopy = {
  workspaceId: string;
  emailId: string;
  position: number;
  reply: string;
  /** Empty: the report names no server. */
  remoteMx: string;
  /** The address to add to the suppression list. */
  suppress: string | undefined;
  event: { id: string; payload: Record<string, unknown> };
};

/**
 * Marks a delivered or sent recipient as bounced. False: it has another status, and nothing changes. The email's status does not change
 * (docs/states.md). Locks in the order of delivery/store/settle.ts: recipient, email, counter.
 */
export async function settleReturned(sql: Sql, bounced: BouncedCopy): Promise<boolean> {
  const { workspaceId, emailId, position, event } = bounced;
  const suppress = bounced.suppress ?? null;
  const rows = await retrying(
    () => sql.write`
    with locked as materialized (
      select workspace_id, email_id, position, status as was from recipients
      where workspace_id = ${workspaceId} and email_id = ${emailId} and position = ${position} and status in ('delivered', 'sent') for update
    ), mail as materialized (
      select ${countColumns(sql)}, message_id, metadata from emails where workspace_id = ${workspaceId} and id = ${emailId}
        and (select count(*) from locked) > 0 for update
    ), bump as (
      update event_counters c set last = c.last + 1 where c.workspace_id = ${workspaceId} and (select count(*) from mail) > 0 returning c.last
    ), recipient as (
      update recipients r set status = 'bounced', reply = ${bounced.reply}, remote_mx = coalesce(nullif(${bounced.remoteMx}::text, ''), r.remote_mx),
        settled_at = now()
      from locked l where r.workspace_id = ${workspaceId} and r.email_id = ${emailId} and r.position = l.position
    ), moves as (
      select workspace_id, email_id, was, 'bounced' as status, null::text as reply from locked
    ), ${countMoves(sql)}, suppressed_address as (
      insert into suppressions (workspace_id, address, reason, source_event)
      select ${workspaceId}::uuid, lower(${suppress}::text), 'bounce', ${event.id}::uuid from locked where ${suppress}::text is not null
      on conflict do nothing
    )
    insert into events (workspace_id, number, id, type, email_id, message_id, metadata, payload, created_at)
    select ${workspaceId}::uuid, b.last, ${event.id}::uuid, 'email.bounced', ${emailId}::uuid, m.message_id, m.metadata,
      ${JSON.stringify(event.payload)}::text::jsonb, (select stamp_time())
    from bump b, mail m
    returning 1`,
  );
  return rows.length > 0;
}

export type NewComplaint = {
  workspaceId: string;
  email: { id: string; messageId: string; metadata: Record<string, string> };
  /** Identifies the complaint, so that a repeated one is recognized. */
  fingerprint: string;
  /** False for a report that mail is not spam, for example: it becomes an event, and the email keeps its outcome. */
  isSpam: boolean;
  /** The address to add to the suppression list. */
  suppress: string | undefined;
  event: { id: string; payload: Record<string, unknown> };
};

/** False: the same complaint has been received before. */
export async function storeComplaint(sql: Sql, complaint: NewComplaint): Promise<boolean> {
  const { workspaceId, email, event } = complaint;
  const suppress = complaint.suppress ?? null;
  const rows = await retrying(
    () => sql.write`
    with seen as (
      insert into inbound_seen (workspace_id, fingerprint, inbound_id, created_at)
      values (${workspaceId}, ${complaint.fingerprint}, ${event.id}, service_time())
      on conflict do nothing returning 1
    ), mail as materialized (
      select ${countColumns(sql)} from emails where workspace_id = ${workspaceId} and id = ${email.id} and (select count(*) from seen) > 0
        and ${complaint.isSpam} for update
    ), ${countComplaint(sql)}, bump as (
      update event_counters set last = last + 1 where workspace_id = ${workspaceId} and (select count(*) from seen) > 0
        and (select count(*) from mail) >= 0 returning last
    ), suppressed_address as (
      insert into suppressions (workspace_id, address, reason, source_event)
      select ${workspaceId}::uuid, lower(${suppress}::text), 'complaint', ${event.id}::uuid
      from seen where ${suppress}::text is not null
      on conflict do nothing
    )
    insert into events (workspace_id, number, id, type, email_id, message_id, metadata, payload, created_at)
    select ${workspaceId}, last, ${event.id}, 'email.complained', ${email.id}::uuid, ${email.messageId}::text,
      ${JSON.stringify(email.metadata)}::text::jsonb, ${JSON.stringify(event.payload)}::text::jsonb, (select stamp_time()) from bump
    returning 1`,
  );
  return rows.length > 0;
}
