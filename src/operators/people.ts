/** What operators do with people: list, disable, enable and delete them, and appoint operators. Each change is one transaction with its
 * entry in the audit log. Called by OperatorService and by posthorn people. */
import { type Actor, record } from "../audit/record.ts";
import { lockKeysMadeBy, revokeKeysMadeBy } from "../keys/store.ts";
import { Problem } from "../ops/problem.ts";
import { type FactorProvider, hasSecondFactor } from "../people/second-factor.ts";
import { lockPerson } from "../people/store/sessions.ts";
import { findPersonById } from "../people/store.ts";
import { retrying, type Sql } from "../postgres/pool.ts";
import { keyRevoked } from "../workspaces/store.ts";
import { disable, enable, getPersonEntry, type PersonEntry, setOperator } from "./store/people.ts";
import { erasePerson, leaveWorkspaces } from "./store/person-deletion.ts";

type Change = { personId: string; actor: Actor };
/** After a deadlock, the transaction is repeated. Tests of the order of locks allow one try. */
type Repeatable = { tries?: number };
export type Disabled = { wasEnabled: boolean; revokedKeys: number; person: PersonEntry };

/** Undefined: there is no such person. */
export async function disablePerson(
  sql: Sql,
  { personId, actor, revokeKeys, tries }: Change & { revokeKeys: boolean } & Repeatable,
): Promise<Disabled | undefined> {
  requireOther(actor, personId, "disable");
  return await changing(sql, tries, async (tx) => {
    if (!(await getPersonEntry(tx, personId))) return undefined;
    if (revokeKeys) await lockKeysMadeBy(tx, personId);
    const wasEnabled = await disable(tx, personId);
    if (wasEnabled) await record(tx, actor, changeOf("person.disabled", personId));
    const revokedKeys = revokeKeys ? await revokeAll(tx, personId, actor) : 0;
    const person = await getPersonEntry(tx, personId);
    return person && { wasEnabled, revokedKeys, person };
  });
}

/** False in `changed`: the person was not disabled. */
export async function enablePerson(
  sql: Sql,
  { personId, actor }: Change,
): Promise<{ changed: boolean; person: PersonEntry } | undefined> {
  return await sql.begin(async (tx) => {
    const changed = await enable(tx, personId);
    if (changed) await record(tx, actor, changeOf("person.enabled", personId));
    const person = await getPersonEntry(tx, personId);
    return person && { changed, person };
  });
}

/** Undefined: there is no such person. Throws when they are the last owner of a workspace. */
export async function deletePerson(
  sql: Sql,
  { personId, actor, revokeKeys, tries }: Change & { revokeKeys: boolean } & Repeatable,
): Promise<{ email: string; revokedKeys: number; validKeys: number } | undefined> {
  requireOther(actor, personId, "delete");
  return await changing(sql, tries, async (tx) => {
    const person = await getPersonEntry(tx, personId);
    if (!person) return undefined;
    const orphans = await leaveWorkspaces(tx, person);
    if (orphans.length > 0) throw lastOwner(person.email, orphans);
    await lockKeysMadeBy(tx, personId);
    const revokedKeys = revokeKeys ? await revokeAll(tx, personId, actor) : 0;
    if (!(await erasePerson(tx, person))) return undefined;
    await record(tx, actor, changeOf("person.deleted", personId));
    return { email: person.email, revokedKeys, validKeys: revokeKeys ? 0 : person.validKeys };
  });
}

/** False: the person is or is not an operator already. Throws when a new operator has no second factor: the next one to sign in with the
 * password could add one and would have all rights. */
export async function appoint(
  sql: Sql,
  { personId, actor, isOperator, providers }: Change & { isOperator: boolean; providers: readonly FactorProvider[] },
): Promise<boolean> {
  return await sql.begin(async (tx) => {
    // A factor cannot be removed meanwhile.
    await lockPerson(tx, personId);
    if (isOperator && !(await hasSecondFactor(tx, personId, providers)))
      throw noFactor(await findPersonById(tx, personId));
    const changed = await setOperator(tx, personId, isOperator);
    if (changed) await record(tx, actor, changeOf(isOperator ? "operator.added" : "operator.removed", personId));
    return changed;
  });
}

/** A foreign key is violated (23503) when the person joins a workspace during their deletion: a second try sees the membership. */
async function changing<T>(sql: Sql, tries: number | undefined, work: (tx: Sql) => Promise<T>): Promise<T> {
  return await retrying(() => sql.begin(work), tries, ["23503"]);
}

async function revokeAll(tx: Sql, personId: string, actor: Actor): Promise<number> {
  const revoked = await revokeKeysMadeBy(tx, { workspaceId: undefined, personId });
  await record(tx, actor, ...revoked.map(keyRevoked));
  return revoked.length;
}

function changeOf(action: `${string}.${string}`, personId: string) {
  return { action, target: { kind: "person", id: personId } } as const;
}

/** An operator who locks themselves out would need the command line. */
function requireOther(actor: Actor, personId: string, what: "disable" | "delete"): void {
  if (actor.kind === "person" && actor.id === personId)
    throw new Problem(
      "failed_precondition",
      `This is your own account, which you cannot ${what} here. Ask another operator, or use: posthorn people ${what} EMAIL`,
    );
}

function noFactor(person: { email: string } | undefined): Problem {
  return new Problem(
    "failed_precondition",
    `${person?.email ?? "This person"} has no second factor, which every operator needs. Ask them to add one in the dashboard under Account, Second factors, then run this command again.`,
  );
}

function lastOwner(email: string, workspaces: readonly { name: string }[]): Problem {
  const names = workspaces.map(({ name }) => JSON.stringify(name)).join(", ");
  return new Problem(
    "failed_precondition",
    `${email} is the last owner of ${names}. Make another member an owner there, or delete the workspaces, then try again.`,
  );
}
