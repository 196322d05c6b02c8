/** Finds the registered domains that reports are about. Called by inbound/addressees.ts and ../tls-page.ts. */
import type { Sql } from "../../postgres/pool.ts";

export type ReportedDomain = { workspaceId: string; id: string; domain: string };

/** Registrations have tokens of this form (domains/register.ts). Other texts cost no query. */
export function isToken(text: string): boolean {
  return /^[a-z2-7]{20}$/.test(text);
}

/** The registration that a report address names, once it has proved control of its domain. Unique index domains_token_key. */
export async function findByToken(sql: Sql, token: string): Promise<ReportedDomain | undefined> {
  const [row] = await sql<ReportedDomain[]>`
    select d.workspace_id as "workspaceId", d.id, d.domain from domains d join workspaces w on w.id = d.workspace_id
    where d.token = ${token} and d.deleted_at is null and d.control_proved_at is not null and w.deleting_at is null limit 1`;
  return row;
}
