/** Domains as sending needs them: whether one may send (called by emails), and its signing keys (called by delivery). */
import type { Sql } from "../../postgres/pool.ts";
import { ownKeyBits, signingKeys } from "../rules/signing-key.ts";

export type SendingDomain = { domain: string; canSend: boolean; status: string; note: string };

/** By name. A name that the workspace has not registered is missing from the map. Index domains_by_name. */
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
  /** `bounce` in bounce.example.com, if both MAIL FROM records were found. Undefined: use the service's own zone. */
  mailFromLabel: string | undefined;
  /** Sealed private keys whose public keys receivers can find; use the first. */
  keys: { id: string; selector: string; bits: number; privateKeySealed: string }[];
};

/** Also for deleted domains, which still sign the mail that was accepted. The mail of the system workspace has a domain of the first one. */
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
    from domains d left join dkim_keys k on k.workspace_id = d.workspace_id and k.domain_id = d.id and k.retired_at is null and k.active_from <= (select service_time())
    where d.workspace_id = ${domainWorkspace(sql, workspaceId)} and d.id = ${domainId} order by k.active_from desc, k.slot`;
  const [first] = rows;
  if (!first) return undefined;
  const imported = await sql<Signing["keys"]>`
    select id, selector, bits::int, private_key_sealed as "privateKeySealed" from imported_dkim_keys
    where workspace_id = ${domainWorkspace(sql, workspaceId)} and domain_id = ${domainId} and found_since is not null order by id desc`;
  const own = rows.flatMap(({ id, slot, sealed }) =>
    id ? [{ id, selector: `ph${slot}`, bits: ownKeyBits, privateKeySealed: sealed }] : [],
  );
  return {
    domain: first.domain,
    mailFromLabel: first.mailFromReady ? first.label : undefined,
    keys: signingKeys({ imported, own, foundSlots: first.slots }),
  };
}

/** Stores the time of the last signature, at most once an hour per key: a retired key is served for a week after it. */
export async function noteSigned(sql: Sql, workspaceId: string, keyIds: readonly string[]): Promise<void> {
  const due = sql`workspace_id = ${domainWorkspace(sql, workspaceId)} and id = any(${keyIds as string[]}::uuid[])
    and (last_signed_at is null or last_signed_at < (select service_time()) - interval '1 hour')`;
  await sql`
    with imported as (update imported_dkim_keys set last_signed_at = (select service_time()) where ${due})
    update dkim_keys set last_signed_at = (select service_time()) where ${due}`;
}

/** The workspace that owns the domains of this workspace's mail. Primary key of settings. */
function domainWorkspace(sql: Sql, workspaceId: string) {
  return sql`coalesce((select f.value::uuid from settings s join settings f on f.name = 'first_workspace'
    where s.name = 'system_workspace' and s.value = ${workspaceId}::text), ${workspaceId}::uuid)`;
}
