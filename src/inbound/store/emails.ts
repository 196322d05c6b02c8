/** Finds the email that an inbound message refers to, by its return path or by threading headers. Called by receive.ts and reports.ts. */
import type { Sql } from "../../postgres/pool.ts";

export type ParentEmail = { id: string; messageId: string; metadata: Record<string, string> };

/** A Message-ID that an inbound message refers to. `id`: the email's, if the Message-ID has the form of ours. */
export type Candidate = { id: string | undefined; messageId: string };

/** The first candidate that is an email of this workspace with exactly this Message-ID, since senders can forge ids. Index: the primary keys of
 * emails and email_message_ids. */
export async function findParent(
  sql: Sql,
  workspaceId: string,
  candidates: readonly Candidate[],
): Promise<ParentEmail | undefined> {
  if (candidates.length === 0) return undefined;
  const [row] = await sql<ParentEmail[]>`
    select e.id, e.message_id as "messageId", e.metadata
    from unnest(${candidates.map((c) => c.id ?? null)}::uuid[], ${candidates.map((c) => c.messageId)}::text[]) with ordinality as c(id, message_id, ord)
    cross join lateral (
      select c.id where c.id is not null
      union all
      (select email_id from email_message_ids where workspace_id = ${workspaceId} and message_id = lower(c.message_id) order by email_id desc limit 1)
    ) k(id)
    join emails e on e.workspace_id = ${workspaceId} and e.id = k.id and lower(e.message_id) = lower(c.message_id)
    order by c.ord, e.id desc limit 1`;
  return row;
}

/** The same for system mail that was sent from this domain: its replies are stored with it, where operators read them. They may quote a link
 * that opens an account. Primary keys of settings and emails. */
export async function findSystemParent(
  sql: Sql,
  domainId: string,
  all: readonly Candidate[],
): Promise<(ParentEmail & { workspaceId: string }) | undefined> {
  const candidates = all.flatMap(({ id, messageId }) => (id ? [{ id, messageId }] : []));
  if (candidates.length === 0) return undefined;
  const [row] = await sql<(ParentEmail & { workspaceId: string })[]>`
    select e.workspace_id as "workspaceId", e.id, e.message_id as "messageId", e.metadata
    from unnest(${candidates.map((c) => c.id)}::uuid[], ${candidates.map((c) => c.messageId)}::text[]) with ordinality as c(id, message_id, ord)
    join settings s on s.name = 'system_workspace'
    join emails e on e.workspace_id = s.value::uuid and e.id = c.id and lower(e.message_id) = lower(c.message_id) and e.domain_id = ${domainId}
    order by c.ord limit 1`;
  return row;
}

export type ReturnedEmail = ParentEmail & {
  workspaceId: string;
  domainId: string;
  domain: string;
  recipients: ReturnedRecipient[];
};

export type ReturnedRecipient = {
  position: number;
  address: string;
  /** It has no final outcome yet. */
  open: boolean;
  attempts: number;
  /** The last attempt was made too long ago for a bounce: by service time, of which settled recipients have the last attempt in due_at. */
  expired: boolean;
};

/** A report about mail that was accepted longer ago is not a bounce: servers retry for days, not for weeks. */
const bouncesWithinDays = 30;

/**
 * The email of a return path; undefined once it has been deleted. A return path does not contain the workspace, so the statement tries the
 * primary key with each workspace; the id determines the partition.
 */
export async function findReturned(sql: Sql, emailId: string): Promise<ReturnedEmail | undefined> {
  const [email] = await sql<Omit<ReturnedEmail, "recipients">[]>`
    select e.workspace_id as "workspaceId", e.id, e.message_id as "messageId", e.metadata, e.domain_id as "domainId", e.domain
    from workspaces w cross join lateral (
      select * from emails where workspace_id = w.id and id = ${emailId} offset 0) e where w.deleting_at is null limit 1`;
  if (!email) return undefined;
  const recipients = await sql<ReturnedEmail["recipients"]>`
    select position, address, attempts, status in ('queued', 'delayed') as open, due_at < (select service_time()) - ${`${bouncesWithinDays} days`}::interval as expired from recipients
    where workspace_id = ${email.workspaceId} and email_id = ${emailId} order by position`;
  return { ...email, recipients };
}

/** The email with this Message-ID, among the workspaces that have registered the id's domain, and system mail: a stranger chooses the id, so the statement must
 * not try each workspace. Index domains_proved and the primary keys of emails and email_message_ids. */
export async function findByMessageId(
  sql: Sql,
  copy: Candidate & { domain: string },
): Promise<{ workspaceId: string; id: string } | undefined> {
  const [row] = await sql<{ workspaceId: string; id: string }[]>`
    select e.workspace_id as "workspaceId", e.id from (
      (select distinct workspace_id from domains
        where domain = ${copy.domain} and deleted_at is null and control_proved_at is not null limit 100)
      union all select value::uuid from settings where name = 'system_workspace') d
    cross join lateral (
      select ${copy.id ?? null}::uuid as id
      union all
      (select email_id from email_message_ids where workspace_id = d.workspace_id and message_id = ${copy.messageId.toLowerCase()}
        order by email_id desc limit 1)
    ) k
    cross join lateral (select workspace_id, id, message_id from emails where workspace_id = d.workspace_id and id = k.id offset 0) e
    where lower(e.message_id) = ${copy.messageId.toLowerCase()} limit 1`;
  return row;
}
