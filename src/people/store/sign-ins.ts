/** The SQL of sign-ins that wait for their second factor. Called by ../sign-in.ts. */
import { hashToken } from "../../ops/one-time-token.ts";
import type { Sql } from "../../postgres/pool.ts";
import type { Person } from "../store.ts";
import { type Proof, type SignedInBy, stillProved } from "./sessions.ts";

export type PendingSignIn = { person: Person; by: SignedInBy };

/** False: as for insertSession. */
export async function insertSignIn(
  sql: Sql,
  signIn: { token: string; personId: string; proof: Proof; forMs: number },
): Promise<boolean> {
  const { personId, proof } = signIn;
  const rows = await sql.write`insert into people_sign_ins (token_hash, person_id, signed_in_by, service_expires_at)
    select ${hashToken(signIn.token)}, p.id, ${proof.by}, service_time() + ${`${signIn.forMs} milliseconds`}::interval
    from (${stillProved(sql, personId, proof)}) p returning 1`;
  return rows.length > 0;
}

/** Primary key of people_sign_ins. */
export async function findSignIn(sql: Sql, token: string, maxTries: number): Promise<PendingSignIn | undefined> {
  const [row] = await sql<(Person & { by: SignedInBy })[]>`
    select p.id, p.email, p.name, s.signed_in_by as by from people_sign_ins s join people p on p.id = s.person_id
    where s.token_hash = ${hashToken(token)} and s.tries < ${maxTries} and s.service_expires_at > service_time()`;
  return row && pending(row);
}

/** Counts a try before it is judged, so that concurrent ones cannot exceed the limit together. Undefined: no try is left. */
export async function takeTry(sql: Sql, token: string, maxTries: number): Promise<PendingSignIn | undefined> {
  const [row] = await sql.write<(Person & { by: SignedInBy })[]>`
    update people_sign_ins s set tries = tries + 1 from people p
    where p.id = s.person_id and s.token_hash = ${hashToken(token)} and s.tries < ${maxTries} and s.service_expires_at > service_time()
    returning p.id, p.email, p.name, s.signed_in_by as by`;
  return row && pending(row);
}

/** Only the first of several concurrent calls gets true. */
export async function endSignIn(sql: Sql, token: string): Promise<boolean> {
  return (await sql.write`delete from people_sign_ins where token_hash = ${hashToken(token)} returning 1`).length > 0;
}

function pending({ id, email, name, by }: Person & { by: SignedInBy }): PendingSignIn {
  return { person: { id, email, name }, by };
}
