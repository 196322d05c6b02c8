/** SQL of what recipients do with the link of an email: the entry and its event in one statement. Called by ../endpoint.ts. */
import { appendEvent } from "../../../events/store.ts";
import { retrying, type Sql } from "../../../postgres/pool.ts";
import { stampTime } from "../../../postgres/service-clock.ts";
import type { Link } from "../rules/token.ts";

export type Change = Pick<Link, "workspaceId" | "emailId" | "address" | "topic"> & {
  method: "one_click" | "page";
  eventId: string;
};

/** True: changed. False: the recipient had that state, and nothing is written. `gone`: the workspace was deleted. */
export type Changed = boolean | "gone";

export async function unsubscribe(sql: Sql, change: Change): Promise<Changed> {
  const { address, topic, method, emailId, eventId } = change;
  const entry = sql`
    insert into unsubscribes (workspace_id, address, topic, method, email_id, source_event, created_at)
    select id, lower(${address}::text), ${topic}::text, ${method}::text, ${emailId}::uuid, ${eventId}::uuid, ${stampTime(sql)} from workspace
    on conflict do nothing returning 1`;
  return await writeWithEvent(sql, change, { entry, resubscribed: false });
}

/** The recipient subscribed again. */
export async function resubscribe(sql: Sql, change: Change): Promise<Changed> {
  const { workspaceId, address, topic } = change;
  const entry = sql`
    delete from unsubscribes where workspace_id = ${workspaceId} and address = lower(${address}::text) and topic = ${topic} returning 1`;
  return await writeWithEvent(sql, change, { entry, resubscribed: true });
}

/** The row of the email may be gone: then the event names no email. Locks the entry before the counter. */
async function writeWithEvent(
  sql: Sql,
  change: Change,
  { entry, resubscribed }: { entry: ReturnType<Sql>; resubscribed: boolean },
): Promise<Changed> {
  const { workspaceId, emailId, eventId } = change;
  const [row] = await retrying(
    () => sql.write<{ exists: boolean; changed: boolean }[]>`
    with workspace as (select id from workspaces where id = ${workspaceId}), entry as (${entry}), bump as (
      update event_counters set last = last + 1 where workspace_id = ${workspaceId} and (select count(*) from entry) > 0 returning last
    ), event as (
      insert into events (workspace_id, number, id, type, email_id, message_id, metadata, payload, created_at)
      select ${workspaceId}::uuid, b.last, ${eventId}::uuid, 'email.unsubscribed', e.id, e.message_id, coalesce(e.metadata, '{}'),
        ${JSON.stringify(payloadOf(change, resubscribed))}::text::jsonb, ${stampTime(sql)}
      from bump b left join lateral (select id, message_id, metadata from emails where workspace_id = ${workspaceId} and id = ${emailId} limit 1) e on true
      returning 1
    )
    select exists (select 1 from workspace) as exists, exists (select 1 from event) as changed`,
  );
  return row!.exists ? row!.changed : "gone";
}

/** The link of a test email: the event, once and as long as the email is stored, and no entry. */
export async function simulateUnsubscribe(sql: Sql, change: Change): Promise<Changed> {
  const { workspaceId, emailId, eventId } = change;
  return await sql.begin(async (tx) => {
    // Locked before the events are read, so that two calls at the same time write one event.
    const [email] = await tx<{ id: string; messageId: string; metadata: Record<string, string> }[]>`
      select id, message_id as "messageId", metadata from emails where workspace_id = ${workspaceId} and id = ${emailId} for update`;
    if (!email) return false;
    const written = await tx`
      select 1 from events where workspace_id = ${workspaceId} and email_id = ${emailId} and type = 'email.unsubscribed' limit 1`;
    if (written.length > 0) return false;
    const payload = payloadOf(change, false);
    await appendEvent(tx, { id: eventId, workspaceId, type: "email.unsubscribed", payload, email });
    return true;
  });
}

/** In the JSON form of the contract. */
function payloadOf({ address, topic, method }: Change, resubscribed: boolean): Record<string, unknown> {
  const how = `UNSUBSCRIBE_METHOD_${method.toUpperCase()}`;
  return { recipients: [address], topic, method: how, ...(resubscribed && { resubscribed }) };
}

/** Emails of one address that are searched for topics. */
const searchedEmails = 200;

/** The topics of the newest emails to the address, and whether the workspace exists. Index recipients_by_address. */
export async function sentTopics(
  sql: Sql,
  { workspaceId, address }: Pick<Link, "workspaceId" | "address">,
): Promise<{ topics: string[]; exists: boolean }> {
  const [row] = await sql<{ topics: string[]; exists: boolean }[]>`
    with sent as (
      select email_id from recipients where workspace_id = ${workspaceId} and lower(address) = lower(${address}::text)
      order by email_id desc limit ${searchedEmails}
    )
    select exists (select 1 from workspaces where id = ${workspaceId}) as exists, coalesce((
      select array_agg(distinct e.topic order by e.topic) from sent s cross join lateral (
        select envelope -> 'unsubscribe' ->> 'topic' as topic from emails
        where workspace_id = ${workspaceId} and id = s.email_id and not test limit 1) e
      where e.topic is not null), '{}') as topics`;
  return row!;
}
