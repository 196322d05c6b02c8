/** The SQL of identities at providers. An identity is an issuer and a subject; people_accounts holds it as provider_id and account_id,
 * next to the password, whose provider_id is `credential`. Called by ../oidc/ and ../people.ts. */
import { makeUuid } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import type { Person } from "../store.ts";

export type Identity = { issuer: string; subject: string };

/** Unique index of people_accounts. */
export async function findByIdentity(sql: Sql, { issuer, subject }: Identity): Promise<Person | undefined> {
  const [row] = await sql<Person[]>`
    select p.id, p.email, p.name from people_accounts a join people p on p.id = a.person_id
    where a.provider_id = ${issuer} and a.account_id = ${subject} and a.provider_id <> 'credential'`;
  return row;
}

export type LinkCandidate = {
  person: Person;
  /** The person used a link that only a mail to the address contained. */
  hasProvedAddress: boolean;
  /** The account has another identity at the same issuer. */
  hasOther: boolean;
  isOperator: boolean;
  isDisabled: boolean;
};

/** The account that a verified address may be linked with (indexes people_email_key, people_accounts_by_person). */
export async function findByAddress(sql: Sql, email: string, issuer: string): Promise<LinkCandidate | undefined> {
  const [row] = await sql<(Person & Omit<LinkCandidate, "person">)[]>`
    select p.id, p.email, p.name, p.email_verified as "hasProvedAddress", p.is_operator as "isOperator",
      p.disabled_at is not null as "isDisabled",
      exists (select 1 from people_accounts a where a.person_id = p.id and a.provider_id = ${issuer}) as "hasOther"
    from people p where p.email = ${email}`;
  if (!row) return undefined;
  const { id, email: address, name, ...facts } = row;
  return { person: { id, email: address, name }, ...facts };
}

/** False when the identity belongs to a person already. */
export async function addIdentity(
  sql: Sql,
  { personId, identity, nowMs }: { personId: string; identity: Identity; nowMs: number },
): Promise<boolean> {
  const rows = await sql`
    insert into people_accounts (id, person_id, provider_id, account_id)
    values (${makeUuid(nowMs)}, ${personId}, ${identity.issuer}, ${identity.subject})
    on conflict (provider_id, account_id) do nothing returning 1`;
  return rows.length > 0;
}

/** A person without a password. Undefined when the address has an account. The provider vouches for the address, which is not a proof by
 * the account itself: another provider is not linked by it. */
export async function addPersonOfProvider(
  sql: Sql,
  person: { email: string; name: string; nowMs: number },
): Promise<Person | undefined> {
  const [row] = await sql<Person[]>`
    insert into people (id, email, name) values (${makeUuid(person.nowMs)}, ${person.email}, ${person.name})
    on conflict (email) do nothing returning id, email, name`;
  return row;
}

export type LinkedIdentity = { id: string; issuer: string; linkedAt: Date };

/** Index people_accounts_by_person. */
export async function listIdentities(sql: Sql, personId: string): Promise<LinkedIdentity[]> {
  return await sql<LinkedIdentity[]>`
    select id, provider_id as issuer, created_at as "linkedAt" from people_accounts
    where person_id = ${personId} and provider_id <> 'credential' order by id limit 100`;
}

export async function hasPassword(sql: Sql, personId: string): Promise<boolean> {
  const rows = await sql`
    select 1 from people_accounts where person_id = ${personId} and provider_id = 'credential' and password is not null`;
  return rows.length > 0;
}

/** Also ends sign-ins by a provider that wait for their second step. */
export async function removeIdentity(sql: Sql, personId: string, id: string): Promise<boolean> {
  const rows = await sql`
    with removed as (
      delete from people_accounts where id = ${id} and person_id = ${personId} and provider_id <> 'credential' returning person_id),
    waiting as (
      delete from people_sign_ins s using removed r where s.person_id = r.person_id and s.signed_in_by = 'oidc')
    select 1 from removed`;
  return rows.length > 0;
}

/** People who can sign in only with a password, for the operator who turns passwords off. */
export async function countPasswordOnly(sql: Sql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from people p
    where not exists (select 1 from people_accounts a where a.person_id = p.id and a.provider_id <> 'credential')`;
  return row!.count;
}
