/** Rows of links that show a domain's records without a sign-in. Only the hash of a token is stored. Called by links.ts and shared-page.ts. */
import type { Sql } from "../../postgres/pool.ts";
import { type DomainRow, domainColumns } from "./domains.ts";

export type DomainLink = {
  id: string;
  domainId: string;
  createdAt: Date;
  expiresAt: Date;
  lastViewedAt: Date | null;
};

/** More links than this are hardly looked after. */
export const maxLinksPerDomain = 20;

/** Undefined: the workspace has no such domain. `full`: the domain has as many links as it may have. Index domain_links_by_domain. */
export async function addLink(
  sql: Sql,
  link: { workspaceId: string; domainId: string; id: string; tokenHash: string; days: number },
): Promise<DomainLink | "full" | undefined> {
  const { workspaceId, domainId } = link;
  const [found] = await sql<{ links: number }[]>`
    select (select count(*)::int from domain_links l where l.workspace_id = d.workspace_id and l.domain_id = d.id
      and l.service_expires_at > (select service_time())) as links
    from domains d where d.workspace_id = ${workspaceId} and d.id = ${domainId} and d.deleted_at is null for no key update of d`;
  if (!found) return undefined;
  if (found.links >= maxLinksPerDomain) return "full";
  const [row] = await sql<DomainLink[]>`
    insert into domain_links (workspace_id, id, domain_id, token_hash, expires_at, service_expires_at)
    values (${workspaceId}, ${link.id}, ${domainId}, ${link.tokenHash}, wall_time() + ${link.days} * interval '1 day',
      (select service_time()) + ${link.days} * interval '1 day')
    returning ${columns(sql)}`;
  return row;
}

/** The links that work, newest first. Index domain_links_by_domain. */
export async function listLinks(
  sql: Sql,
  page: { workspaceId: string; domainId: string; before: string | undefined; limit: number },
): Promise<DomainLink[]> {
  return await sql<DomainLink[]>`
    select ${columns(sql)} from domain_links
    where workspace_id = ${page.workspaceId} and domain_id = ${page.domainId} and service_expires_at > (select service_time())
    ${page.before ? sql`and id < ${page.before}` : sql``} order by id desc limit ${page.limit}`;
}

/** Primary key. */
export async function revokeLink(sql: Sql, at: { workspaceId: string; id: string }): Promise<DomainLink | undefined> {
  const [row] = await sql<DomainLink[]>`
    delete from domain_links where workspace_id = ${at.workspaceId} and id = ${at.id} returning ${columns(sql)}`;
  return row;
}

/** The domain behind a token. Undefined: the link is unknown, expired or revoked, or its domain is deleted. Index domain_links_by_token. */
export async function findSharedDomain(
  sql: Sql,
  tokenHash: string,
): Promise<{ row: DomainRow; expiresAt: Date } | undefined> {
  const [link] = await sql<{ workspaceId: string; domainId: string; expiresAt: Date }[]>`
    select workspace_id as "workspaceId", domain_id as "domainId", expires_at as "expiresAt" from domain_links
    where token_hash = ${tokenHash} and service_expires_at > (select service_time())`;
  if (!link) return undefined;
  const [row] = await sql<DomainRow[]>`
    select ${domainColumns(sql)} from domains
    where workspace_id = ${link.workspaceId} and id = ${link.domainId} and deleted_at is null`;
  return row && { row, expiresAt: link.expiresAt };
}

/** At most once a minute for each link. Index domain_links_by_token. */
export async function noteView(sql: Sql, tokenHash: string): Promise<void> {
  await sql`
    update domain_links set last_viewed_at = wall_time()
    where token_hash = ${tokenHash} and (last_viewed_at is null or last_viewed_at < wall_time() - interval '1 minute')`;
}

/** Index domain_links_expired. */
export async function forgetExpiredLinks(sql: Sql): Promise<number> {
  const rows = await sql`delete from domain_links where service_expires_at <= (select service_time()) returning 1`;
  return rows.length;
}

function columns(sql: Sql) {
  return sql`id, domain_id as "domainId", created_at as "createdAt", expires_at as "expiresAt", last_viewed_at as "lastViewedAt"`;
}
