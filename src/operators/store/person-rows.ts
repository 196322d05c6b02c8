/** Which rows belong to a person: what an export of the person contains, and what person-deletion.ts deletes or clears. Tables with a column
 * person_id need no entry here. Called by export.ts and person-deletion.ts. */
import { idsMadeBy, systemKeyId } from "../../keys/store.ts";
import type { Sql } from "../../postgres/pool.ts";

export type PersonRef = { id: string; email: string };
type Condition = ReturnType<Sql>;

/** Conditions on the row `t` of each table. */
const conditions: Record<string, (sql: Sql, person: PersonRef) => Condition> = {
  people: (sql, { id }) => sql`t.id = ${id}`,
  people_links: (sql, { email }) => sql`t.email = ${email}`,
  members: (sql, { id, email }) => sql`(t.person_id = ${id} or t.email = ${email})`,
  account_mail: (sql, { id, email }) => sql`(t.person_id = ${id} or t.email = ${email})`,
  keys: (sql, { id }) => sql`t.id in (${idsMadeBy(sql, { workspaceId: undefined, personId: id })})`,
  // The entries of a key count as the person's if the address of its client does.
  audit_entries: (sql, { id }) => sql`(t.actor_id = ${id} or t.target_id = ${id}
    or t.id in (select c.entry_id from audit_clients c where c.person_id = ${id}))`,
  emails: (sql, { email }) => sql`(t.workspace_id, t.id) in (${accountMail(sql, email)})`,
  recipients: ofAccountMail,
  events: ofAccountMail,
  follow_ups: ofAccountMail,
  unattributed_reports: ofAccountMail,
  webhook_deliveries: (sql, { email }) => sql`(t.webhook_id, t.event_id) in (
    select w.id, v.id from webhooks w join events v on v.workspace_id = w.workspace_id
    where (v.workspace_id, v.email_id) in (${accountMail(sql, email)}))`,
  webhook_attempts: (sql, { email }) => sql`(t.webhook_id, t.delivery_id) in (
    select d.webhook_id, d.id from webhook_deliveries d where (d.webhook_id, d.event_id) in (
      select w.id, v.id from webhooks w join events v on v.workspace_id = w.workspace_id
      where (v.workspace_id, v.email_id) in (${accountMail(sql, email)})))`,
  inbound_messages: (sql, { email }) => sql`(t.workspace_id, t.parent_email_id) in (${accountMail(sql, email)})`,
  // A suppression that a workspace added itself is the workspace's.
  suppressions: (sql, { email }) => sql`t.address = lower(${email}) and (t.workspace_id, t.source_event) in (
    select v.workspace_id, v.id from events v where (v.workspace_id, v.email_id) in (${accountMail(sql, email)}))`,
};

/** Tables with rows of people, besides those with a column person_id. */
export const tablesByPerson = Object.keys(conditions);

export function isOfPerson(sql: Sql, table: string, person: PersonRef): Condition {
  return conditions[table]?.(sql, person) ?? sql`t.person_id = ${person.id}`;
}

/** Mail of the service to this address. Index recipients_by_address. */
export function accountMail(sql: Sql, email: string): Condition {
  return sql`select e.workspace_id, e.id from recipients r join emails e on e.workspace_id = r.workspace_id and e.id = r.email_id
    where lower(r.address) = lower(${email}) and e.key_id = ${systemKeyId}`;
}

function ofAccountMail(sql: Sql, { email }: PersonRef): Condition {
  return sql`(t.workspace_id, t.email_id) in (${accountMail(sql, email)})`;
}
