/** Deletes a person with everything that names them, in one transaction: the account, memberships, invitations, links, and the mail that
 * the service sent to them about the account. Called by ../people.ts. docs/decisions/0041 lists what stays and why. */
import { listedOutcomes } from "../../emails/rules/outcome.ts";
import { forgetTerms } from "../../emails/store/terms.ts";
import { idsMadeBy, lockKeysMadeBy, systemKeyId } from "../../keys/store.ts";
import { deletedInviter, inviterMetadata, namedInviter } from "../../people/links.ts";
import { retrying, type Sql } from "../../postgres/pool.ts";
import { accountMail, isOfPerson, type PersonRef } from "./person-rows.ts";

/** Needs a transaction. Deletes the memberships and open invitations of a person, unless workspaces would have no owner left: then returns
 * these, at most ten. Locks the workspaces in the order of their ids, so that no other owner leaves meanwhile. A membership in a workspace
 * that is not locked stays, and its foreign key makes the deletion of the person fail and start again.
 * A deletion takes its locks in this order: workspaces, keys, mail, the person, sites. */
export async function leaveWorkspaces(sql: Sql, person: PersonRef): Promise<{ id: string; name: string }[]> {
  const locked = await sql<{ id: string }[]>`
    select id from workspaces where id in (select t.workspace_id from members t where ${isOfPerson(sql, "members", person)})
    order by id for no key update`;
  const orphans = await sql<{ id: string; name: string }[]>`
    select w.id, w.name from members m join workspaces w on w.id = m.workspace_id
    where m.person_id = ${person.id} and m.role = 'owner' and not exists (
      select 1 from members o where o.workspace_id = m.workspace_id and o.id <> m.id and o.role = 'owner' and o.person_id is not null)
    order by w.id limit 10`;
  if (orphans.length === 0)
    await sql`delete from members t where ${isOfPerson(sql, "members", person)}
      and (t.person_id is null or t.workspace_id = any(${locked.map(({ id }) => id)}::uuid[]))`;
  return orphans;
}

type MailRef = { workspaceId: string; id: string };

/** Needs a transaction in which the person has left all workspaces. Accounts, sessions and client addresses in the audit log go with the row
 * of the person. False: another transaction has deleted the person. */
export async function erasePerson(sql: Sql, person: PersonRef): Promise<boolean> {
  const { id, email } = person;
  await lockKeysMadeBy(sql, id);
  await sql`delete from people_links where email = ${email}`;
  await sql`delete from account_mail where email = ${email} or person_id = ${id}`;
  await eraseAccountMail(sql, email, await lockMail(sql, person));
  // The person's programs use these keys.
  await sql`update keys set last_used_address = null where last_used_address is not null
    and id in (${idsMadeBy(sql, { workspaceId: undefined, personId: id })})`;
  await sql`
    delete from oidc_flows f using people_sessions s where s.person_id = ${id} and s.id in (f.session_id, f.confirm_session_id)`;
  const deleted = await sql`delete from people where id = ${id} returning 1`;
  // After the row of the person is locked: `forgetDeletedInviter` erases the name in invitations that are accepted from now on.
  await eraseInviter(sql, id);
  await forgetReplies(sql);
  return deleted.length > 0;
}

/** Mail of the service to this address. Its events stay, because the log of a workspace has no gaps, but without the address and texts.
 * Indexes recipients_by_address, events_by_email, inbound_by_parent and webhook_deliveries_by_event, and primary keys. */
async function eraseAccountMail(sql: Sql, email: string, mails: readonly MailRef[]): Promise<void> {
  for (const [workspaceId, some] of Map.groupBy(mails, (mail) => mail.workspaceId)) {
    const ids = some.map((mail) => mail.id);
    await sql`
      delete from suppressions where workspace_id = ${workspaceId} and address = lower(${email})
        and source_event in (select id from events where workspace_id = ${workspaceId} and email_id = any(${ids}::uuid[]))`;
    await eraseReplies(sql, workspaceId, ids);
    // A receiver may have answered with what it was sent.
    await sql`
      update webhook_deliveries set response_head = null where workspace_id = ${workspaceId} and response_head is not null
        and (webhook_id, event_id) in (select w.id, v.id from webhooks w cross join events v
          where w.workspace_id = ${workspaceId} and v.workspace_id = ${workspaceId} and v.email_id = any(${ids}::uuid[]))`;
    await sql`
      update webhook_attempts set response_headers = '', response_body = '' where workspace_id = ${workspaceId} and response_headers <> ''
        and (webhook_id, delivery_id) in (select d.webhook_id, d.id from webhook_deliveries d where d.workspace_id = ${workspaceId}
          and (d.webhook_id, d.event_id) in (select w.id, v.id from webhooks w cross join events v
            where w.workspace_id = ${workspaceId} and v.workspace_id = ${workspaceId} and v.email_id = any(${ids}::uuid[])))`;
    await sql`
      update events set metadata = '{}', payload = (payload - ${personalFields}::text[])
          || case when payload ? 'recipients' then '{"recipients": []}'::jsonb else '{}' end
      where workspace_id = ${workspaceId} and email_id = any(${ids}::uuid[])`;
    await sql`delete from idempotency where workspace_id = ${workspaceId} and email_id = any(${ids}::uuid[])`;
    await sql`delete from follow_ups where workspace_id = ${workspaceId} and email_id = any(${ids}::uuid[])`;
    await sql`delete from unattributed_reports where workspace_id = ${workspaceId} and email_id = any(${ids}::uuid[])`;
    await sql`delete from email_contents where workspace_id = ${workspaceId} and email_id = any(${ids}::uuid[])`;
    await sql`delete from content_objects where workspace_id = ${workspaceId} and owner_id = any(${ids}::uuid[])`;
    await forgetTerms(sql, some);
    await sql`delete from email_outcomes where workspace_id = ${workspaceId} and outcome = any(${[...listedOutcomes]}::text[])
      and email_id = any(${ids}::uuid[])`;
    await sql`delete from recipients where workspace_id = ${workspaceId} and email_id = any(${ids}::uuid[])`;
    await sql`delete from emails where workspace_id = ${workspaceId} and id = any(${ids}::uuid[])`;
  }
}

/** Locks the account mail of a person and the invitations that they sent, and returns the account mail. Both at once, because an invitation
 * is account mail of the other person, who may be deleted at the same time. In the order of delivery/store/settle.ts: an attempt that is
 * settled at the same time has added its event and its suppression before, or finds no recipient afterwards. */
async function lockMail(sql: Sql, { id, email }: PersonRef): Promise<MailRef[]> {
  const mails = await sql<MailRef[]>`
    select distinct m.workspace_id as "workspaceId", m.id from (${accountMail(sql, email)}) m`;
  const sent = await sql<
    MailRef[]
  >`select workspace_id as "workspaceId", id from emails where ${isInvitationBy(sql, id)}`;
  const both = [...mails, ...sent];
  const refs = sql`select * from unnest(${both.map((mail) => mail.workspaceId)}::uuid[], ${both.map((mail) => mail.id)}::uuid[])`;
  await sql`select 1 from recipients where (workspace_id, email_id) in (${refs}) order by email_id, position for update`;
  await sql`select 1 from emails where (workspace_id, id) in (${refs}) order by id for update`;
  return mails;
}

/** Index emails_by_metadata. */
function isInvitationBy(sql: Sql, personId: string) {
  return sql`metadata @> ${JSON.stringify(inviterMetadata(personId))}::text::jsonb and metadata <> '{}' and key_id = ${systemKeyId}`;
}

/** For an invitation that was just accepted: the inviter may have been deleted since their name was read. Waits for a deletion that has
 * locked the person; one that locks the person later finds the mail itself. */
export async function forgetDeletedInviter(sql: Sql, personId: string): Promise<void> {
  const present = await sql`select 1 from people where id = ${personId} for key share`;
  if (present.length === 0) await retrying(() => sql.begin((tx) => eraseInviter(tx, personId)));
}

/** Invitations belong to the workspace and stay valid, also those whose mail is not sent yet. Their mail keeps everything but the name of
 * the inviter. Index emails_by_metadata and primary keys. */
async function eraseInviter(sql: Sql, personId: string): Promise<void> {
  const mails = await sql<{ workspaceId: string; id: string; day: string }[]>`
    update emails set metadata = ${JSON.stringify(deletedInviter)}::text::jsonb
    where ${isInvitationBy(sql, personId)}
    returning workspace_id as "workspaceId", id, content_day::text as day`;
  const { text, html } = namedInviter;
  for (const { workspaceId, id, day } of mails) {
    await sql`
      update email_contents set data = jsonb_build_object(
          'text', regexp_replace(data::jsonb ->> 'text', ${text.pattern}, ${text.replacement}),
          'html', regexp_replace(data::jsonb ->> 'html', ${html.pattern}, ${html.replacement}))::text
      where workspace_id = ${workspaceId} and email_id = ${id} and day = ${day}::date and part = 0 and piece = 0
        and bytes is null and object is null`;
    await sql`
      update events set metadata = ${JSON.stringify(deletedInviter)}::text::jsonb where workspace_id = ${workspaceId} and email_id = ${id}`;
  }
}

/** Fields of events in which an address or the text of a message can be. */
const personalFields = [
  ...["recipients", "smtpReply", "reason", "from", "to", "cc", "subject", "body", "newText", "html"],
  ...["messageId", "inReplyTo", "references", "attachments", "verdicts", "remoteMx", "userAgent"],
];

async function eraseReplies(sql: Sql, workspaceId: string, emailIds: string[]): Promise<void> {
  const replies = await sql<{ id: string }[]>`
    select id from inbound_messages where workspace_id = ${workspaceId} and parent_email_id = any(${emailIds}::uuid[])`;
  const ids = replies.map(({ id }) => id);
  if (ids.length === 0) return;
  await sql`delete from inbound_contents where workspace_id = ${workspaceId} and inbound_id = any(${ids}::uuid[])`;
  await sql`delete from content_objects where workspace_id = ${workspaceId} and owner_id = any(${ids}::uuid[])`;
  await sql`delete from inbound_seen where workspace_id = ${workspaceId} and inbound_id = any(${ids}::uuid[])`;
  await sql`delete from inbound_messages where workspace_id = ${workspaceId} and id = any(${ids}::uuid[])`;
}

/** The last replies of receiving servers are kept to diagnose a site, and some servers repeat the address in them. Locks sites in the same
 * order as delivery/store/sites.ts. */
export async function forgetReplies(sql: Sql): Promise<void> {
  await sql`
    with locked as materialized (select site from sites where last_reply like '%@%' order by site for update)
    update sites set last_reply = null, last_reply_at = null where site in (select site from locked)`;
}
