/** What sending needs of a domain: may mail leave from it at accept, and how is it signed at delivery. */
import type { Sql } from "./db.ts";

export type SendingDomain = { domain: string; canSend: boolean; status: string; note: string };

/** By name, index domains_by_name; those that the workspace does not have are missing. */
export async function findSendingDomains(
  sql: Sql,
  workspaceId: string,
  names: readonly string[],
): Promise<Map<string, SendingDomain>> {
  const rows = await sql<SendingDomain[]>`
    select domain, can_send as "canSend", status, note from domains
    where workspace_id = ${workspaceId} and domain = any(${names as string[]}::text[]) and deleted_at is null`;
  return new Map(rows.map((row) => [row.domain, row]));
}

export type Signing = {
  domain: string;
  /** `bounce` in bounce.example.com, where both MAIL FROM records were found; undefined: use the service's own zone. */
  mailFromLabel: string | undefined;
  /** Sealed private keys that receivers can find, the newest first: that is the one to use. Deleted domains still sign what was accepted. */
  keys: { id: string; slot: number; privateKeySealed: string }[];
};

export async function readSigning(sql: Sql, workspaceId: string, domainId: string): Promise<Signing | undefined> {
  const rows = await sql<
    {
      domain: string;
      label: string;
      mailFromReady: boolean;
      slots: number[];
      id: string | null;
      slot: number;
      sealed: string;
    }[]
  >`
    select d.domain, d.mail_from_label as label, d.mail_from_ready as "mailFromReady", d.signing_slots as slots, k.id, k.slot, k.private_key_sealed as sealed
    from domains d left join dkim_keys k on k.workspace_id = d.workspace_id and k.domain_id = d.id and k.retired_at is null and k.active_from <= now()
    where d.workspace_id = ${workspaceId} and d.id = ${domainId} order by k.active_from desc, k.slot`;
  const [first] = rows;
  if (!first) return undefined;
  const keys = rows.flatMap((row) => (row.id ? [{ id: row.id, slot: row.slot, privateKeySealed: row.sealed }] : []));
  const findable = keys.filter((key) => first.slots.includes(key.slot));
  return {
    domain: first.domain,
    mailFromLabel: first.mailFromReady ? first.label : undefined,
    keys: findable.length > 0 ? findable : keys,
  };
}

/** Noted at most once an hour per key: a retired key stays served for a week after its last signature. */
export async function noteSigned(sql: Sql, workspaceId: string, keyIds: readonly string[]): Promise<void> {
  await sql`update dkim_keys set last_signed_at = now() where workspace_id = ${workspaceId} and id = any(${keyIds as string[]}::uuid[])
    and (last_signed_at is null or last_signed_at < now() - interval '1 hour')`;
}
