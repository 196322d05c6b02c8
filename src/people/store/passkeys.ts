/** The SQL of passkeys, and of the challenges that they have answered. Called by ../passkeys.ts and ../factors.ts. */
import { hashToken } from "../../ops/one-time-token.ts";
import type { Sql } from "../../postgres/pool.ts";
import type { Person } from "../store.ts";

export type Passkey = {
  id: string;
  credentialId: string;
  transports: string[];
  name: string;
  createdAt: Date;
  lastUsedAt: Date | null;
};

export type NewPasskey = {
  id: string;
  personId: string;
  credentialId: string;
  publicKey: Uint8Array;
  counter: number;
  transports: readonly string[];
  name: string;
};

/** Oldest first (index people_passkeys_by_person). */
export async function listPasskeys(sql: Sql, personId: string): Promise<Passkey[]> {
  return await sql<Passkey[]>`
    select id, credential_id as "credentialId", transports, name, created_at as "createdAt", last_used_at as "lastUsedAt"
    from people_passkeys where person_id = ${personId} order by id`;
}

/** Undefined if the passkey is known already. */
export async function insertPasskey(sql: Sql, passkey: NewPasskey): Promise<Passkey | undefined> {
  const [row] = await sql<Passkey[]>`
    insert into people_passkeys (id, person_id, credential_id, public_key, counter, transports, name)
    values (${passkey.id}, ${passkey.personId}, ${passkey.credentialId}, ${Buffer.from(passkey.publicKey)}, ${passkey.counter},
      ${passkey.transports as string[]}, ${passkey.name})
    on conflict (credential_id) do nothing
    returning id, credential_id as "credentialId", transports, name, created_at as "createdAt", last_used_at as "lastUsedAt"`;
  return row;
}

export type KnownPasskey = { id: string; person: Person; publicKey: Uint8Array; counter: number };

/** Index people_passkeys_credential_id_key. */
export async function findPasskey(sql: Sql, credentialId: string): Promise<KnownPasskey | undefined> {
  const [row] = await sql<(Person & { passkeyId: string; publicKey: Buffer; counter: number })[]>`
    select k.id as "passkeyId", k.public_key as "publicKey", k.counter::float8 as counter, p.id, p.email, p.name
    from people_passkeys k join people p on p.id = k.person_id where k.credential_id = ${credentialId}`;
  if (!row) return undefined;
  const { id, email, name, passkeyId, publicKey, counter } = row;
  return { id: passkeyId, person: { id, email, name }, publicKey: new Uint8Array(publicKey), counter };
}

/** Web Authentication, 7.2: a counter that does not grow hints at a copy of the passkey. Many passkeys always count 0. */
export async function usePasskey(sql: Sql, id: string, counter: number): Promise<boolean> {
  const rows = await sql.write`
    update people_passkeys set counter = ${counter}, last_used_at = wall_time()
    where id = ${id} and (counter < ${counter} or (counter = 0 and ${counter}::bigint = 0)) returning 1`;
  return rows.length > 0;
}

export async function renamePasskey(
  sql: Sql,
  { personId, id, name }: { personId: string; id: string; name: string },
): Promise<boolean> {
  const rows = await sql.write`
    update people_passkeys set name = ${name} where id = ${id} and person_id = ${personId} returning 1`;
  return rows.length > 0;
}

export async function deletePasskey(sql: Sql, personId: string, id: string): Promise<boolean> {
  const rows = await sql`delete from people_passkeys where id = ${id} and person_id = ${personId} returning 1`;
  return rows.length > 0;
}

export async function serviceTimeMs(sql: Sql): Promise<number> {
  const [row] = await sql<{ ms: number }[]>`select floor(extract(epoch from service_time()) * 1000)::float8 as ms`;
  return row!.ms;
}

/** True once for each challenge, and only before its end by service time. */
export async function useChallenge(sql: Sql, challenge: string, endsAtMs: number): Promise<boolean> {
  const rows = await sql.write`
    insert into people_used_challenges (challenge_hash, service_expires_at)
    select ${hashToken(challenge)}, ends_at from (select to_timestamp(${endsAtMs}::float8 / 1000) as ends_at) e
    where ends_at > service_time() on conflict (challenge_hash) do nothing returning 1`;
  return rows.length > 0;
}
