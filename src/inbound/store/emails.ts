/** Finds the email that an inbound message refers to, by its return path or by threading headers. Called by receive.ts and reports.ts. */
import type { Sql } from "../../postgres/pool.ts";

export type ParentEmail = { id: string; messageId: string; metadata: Record<string, string> };

/** The first candidate that is an email of this workspace with exactly this Message-ID, since senders can forge ids. Index: the primary
 * key. */
export async function findParent(
  sql: Sql,
  workspaceId: string,
  candidates: readonly { id: string; messageId: string }[],
): Promise<ParentEmail | undefined> {
  if (candidates.length === 0) return undefined;
  const [row] = await sql<ParentEmail[]>`
    select e.id, e.message_id as "messageId", e.metadata
    from unnest(${candidates.map((c) => c.id)}::uuid[], ${candidates.map((c) => c.messageId)}::text[]) with ordinality as c(id, message_id, ord)
    join emails e on e.workspace_id = ${workspaceId} and e.id = c.id and lower(e.message_id) = lower(c.message_id)
    order by c.ord limit 1`;
  return row;
}

export type ReturnedEmail = ParentEmail & {
  workspaceId: string;
  domainId: string;
  domain: string;
  recipients: { position: number; address: string; status: string; attempts: number }[];
};

/**
 * The email of a return path; undefined once it has been deleted. A return path does not contain the workspace, so the statement tries the
 * primary key with each workspace; the id determines the partition.
 */
export async function findReturned(sql: Sql, emailId: string): Promise<ReturnedEmail | undefined> {
  const [email] = await sql<Omit<ReturnedEmail, "recipients">[]>`
    select e.workspace_id as "workspaceId", e.id, e.message_id as "messageId", e.metadata, e.domain_id as "domainId", e.domain
    from workspaces w cross join lateral (
      select * from emails where workspace_id = w.id and id = ${emailId} offset 0) e limit 1`;
  if (!email) return undefined;
  const recipients = await sql<ReturnedEmail["recipients"]>`
    select position, address, status, attempts from recipients
    where workspace_id = ${email.workspaceId} and email_id = ${emailId} order by position`;
  return { ...email, recipients };
}
