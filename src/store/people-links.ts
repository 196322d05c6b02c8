/** Links with which people sign up or set a new password: each good for one use and a short time, kept as a hash. */
import { createHash, randomBytes } from "node:crypto";
import type { Sql } from "./db.ts";

export type LinkKind = "sign_up" | "reset";

/** 256 bits that cannot be guessed: no slow hash is needed to keep them. */
export function makeToken(): string {
  return randomBytes(32).toString("base64url");
}

export function hashToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

export async function addLink(
  sql: Sql,
  link: { token: string; kind: LinkKind; email: string; forMs: number },
): Promise<void> {
  await sql`insert into people_links (token_hash, kind, email, expires_at)
    values (${hashToken(link.token)}, ${link.kind}, ${link.email}, now() + ${`${link.forMs} milliseconds`}::interval)`;
}

/** Primary key. */
export async function findLink(sql: Sql, token: string): Promise<{ kind: LinkKind; email: string } | undefined> {
  const [row] = await sql<{ kind: LinkKind; email: string }[]>`
    select kind, email from people_links where token_hash = ${hashToken(token)} and expires_at > now()`;
  return row;
}

/** The address that the link was sent to, once. */
export async function takeLink(sql: Sql, kind: LinkKind, token: string): Promise<string | undefined> {
  const [row] = await sql<{ email: string }[]>`
    delete from people_links where token_hash = ${hashToken(token)} and kind = ${kind} and expires_at > now() returning email`;
  return row?.email;
}
