/** Decides which person an identity at a provider is: a linked account, one that is linked by its verified address, or a new one. Then joins
 * the invited workspace and applies the role of the claim. Called by flow.ts after the provider's answer was validated. */
import { type Actor, record, service } from "../../audit/record.ts";
import type { Log } from "../../ops/log.ts";
import { Problem } from "../../ops/problem.ts";
import { isMissingReference, type Sql } from "../../postgres/pool.ts";
import type { Quotas } from "../../quotas/quotas.ts";
import { readEmail } from "../../workspaces/rules.ts";
import { applyClaimedRole, type RoleChange } from "../../workspaces/store/claimed-roles.ts";
import { findInviteByHash, isMemberOrInvited, joinByInviteHash, type MostOwned } from "../../workspaces/store.ts";
import type { Access } from "../access.ts";
import { type OidcReason, OidcRefusal } from "../rules/oidc-refusal.ts";
import {
  isAllowedDomain,
  isVerified,
  type MemberRole,
  nameFrom,
  type Provider,
  roleOfClaims,
} from "../rules/provider.ts";
import { isDisabled, lockEnabled } from "../store/access.ts";
import { findFactors, hasFactor } from "../store/factors.ts";
import { addIdentity, addPersonOfProvider, findByAddress, findByIdentity } from "../store/identities.ts";
import { hasPeople, type Person } from "../store.ts";
import type { Answered } from "./client.ts";

export type AdmitDeps = {
  sql: Sql;
  log: Log;
  access: Access;
  quotas: Quotas;
  mostOwned: MostOwned;
  nowMs(): number;
  /** Called after a person was added. */
  onPerson(): Promise<void>;
};

export type Arrival = Answered & {
  provider: Provider;
  inviteHash: string | null;
  /** The client's IP address. */
  address: string;
};

/** How the person is found, before anything is written. */
type Decision =
  | { kind: "known" | "link"; person: Person; role: MemberRole | undefined }
  | { kind: "new"; email: string; role: MemberRole | undefined };

/** The person or the identity was added, disabled or deleted meanwhile: decide again. */
class Outrun extends Error {}

const tries = 3;

export async function admit(deps: AdmitDeps, arrival: Arrival): Promise<Person> {
  for (let left = tries; ; left--) {
    try {
      return await admitOnce(deps, arrival);
    } catch (error) {
      // A row that refers to the person cannot be added once the person was deleted.
      if (!(error instanceof Outrun || isMissingReference(error)) || left === 1) throw error;
    }
  }
}

async function admitOnce(deps: AdmitDeps, arrival: Arrival): Promise<Person> {
  const decision = await decide(deps.sql, arrival);
  const person = await carryOut(deps, arrival, decision);
  if (decision.kind === "new") await deps.onPerson();
  if (await deps.access.maySignIn(person)) return person;
  const reason = arrival.provider.roleClaim === undefined ? "oidc_not_a_member" : "oidc_role";
  throw new OidcRefusal(reason, { personId: person.id });
}

async function decide(sql: Sql, arrival: Arrival): Promise<Decision> {
  const { provider, claims } = arrival;
  const claimed = roleOfClaims(claims, provider);
  const known = await findByIdentity(sql, arrival);
  const invitation = arrival.inviteHash === null ? undefined : await findInviteByHash(sql, arrival.inviteHash);
  if (known && (await isDisabled(sql, known.id))) throw new OidcRefusal("oidc_disabled", { personId: known.id });
  if (arrival.inviteHash !== null && !invitation) throw new OidcRefusal("oidc_invitation", { personId: known?.id });
  if (known) return { kind: "known", person: known, role: claimed };
  const email = typeof claims.email === "string" ? readEmail(claims.email) : undefined;
  // The same for addresses with and without an account: the provider does not say that this person owns it.
  if (!email || !isVerified(claims, provider.emailVerifiedClaim)) throw new OidcRefusal("oidc_email_not_verified");
  const found = await findByAddress(sql, email, arrival.issuer);
  if (found) {
    // Another tab may have added the person between the two statements.
    if (await findByIdentity(sql, arrival)) throw new Outrun();
    const personId = found.person.id;
    // An account that has not proved the address may belong to someone who took it before its owner came. And a second subject at the
    // same issuer may be the next holder of a mailbox.
    // An operator links providers by hand: a trusted one would give the rights of an operator to the holder of the mailbox.
    if (!found.hasProvedAddress || found.hasOther || found.isOperator)
      throw new OidcRefusal("oidc_not_linked", { personId });
    if (found.isDisabled) throw new OidcRefusal("oidc_disabled", { personId });
    // Otherwise the link would stay, even if the person never gives the second factor.
    if (!provider.secondFactorTrusted && hasFactor(await findFactors(sql, personId)))
      throw new OidcRefusal("oidc_not_linked", { personId });
    return { kind: "link", person: found.person, role: claimed };
  }
  if (invitation) return { kind: "new", email, role: claimed };
  if (!isAllowedDomain(email, provider.domains)) throw new OidcRefusal("oidc_domain");
  const role = provider.roleClaim === undefined ? provider.role : claimed;
  if (role === undefined) throw new OidcRefusal("oidc_role");
  // Otherwise the service would have people, but no owner, and the first person's link would no longer work.
  if (role !== "owner" && !(await hasPeople(sql))) throw new OidcRefusal("oidc_first_person");
  return { kind: "new", email, role };
}

/** One transaction: the person, the identity, the invitation, the role and their entries in the audit log. */
async function carryOut(deps: AdmitDeps, arrival: Arrival, decision: Decision): Promise<Person> {
  const { workspaceId } = arrival.provider;
  const email = decision.kind === "new" ? decision.email : decision.person.email;
  const work = (withRole: boolean) => (tx: Sql) => write(tx, deps, arrival, { ...decision, withRole });
  const adds = workspaceId !== undefined && decision.role && !(await isMemberOrInvited(deps.sql, workspaceId, email));
  if (!adds) return await deps.sql.begin(work(true));
  try {
    return await deps.quotas.adding(workspaceId, "members", work(true));
  } catch (error) {
    const reason = error instanceof Problem ? unjoinable[error.code] : undefined;
    if (!reason) throw error;
    const details = { provider: arrival.provider.name, workspaceId, cause: (error as Problem).message };
    deps.log.warn(details, "a role claim gave no membership");
    if (decision.kind === "new" && arrival.inviteHash === null) throw new OidcRefusal(reason, { cause: error });
    return await deps.sql.begin(work(false));
  }
}

/** Why the provider's workspace takes no member: its quota is reached, or it was deleted meanwhile. Only a new person, who would have no
 * other workspace, is refused for it. */
const unjoinable: Partial<Record<Problem["code"], OidcReason>> = {
  resource_exhausted: "oidc_quota",
  not_found: "oidc_not_a_member",
};

async function write(
  tx: Sql,
  deps: AdmitDeps,
  arrival: Arrival,
  decision: Decision & { withRole: boolean },
): Promise<Person> {
  const person = await findOrAdd(tx, deps, arrival, decision);
  if (arrival.inviteHash !== null) await join(tx, deps, arrival, person);
  if (decision.withRole) await applyRole(tx, deps, arrival, { ...decision, person });
  // Last, because workspaces are locked before people.
  if (!(await lockEnabled(tx, person.id))) throw new Outrun();
  // The person may have unlinked the provider, which then gives no role.
  if ((await findByIdentity(tx, arrival))?.id !== person.id) throw new Outrun();
  return person;
}

async function findOrAdd(tx: Sql, deps: AdmitDeps, arrival: Arrival, decision: Decision): Promise<Person> {
  if (decision.kind === "known") return decision.person;
  const nowMs = deps.nowMs();
  const person = "person" in decision ? decision.person : await addNew(tx, arrival, { email: decision.email, nowMs });
  if (!person || !(await addIdentity(tx, { personId: person.id, identity: arrival, nowMs }))) throw new Outrun();
  const target = { kind: "person" as const, id: person.id };
  const action = decision.kind === "link" ? "account.linked" : "person.created";
  await record(tx, actorOf(person, arrival), { action, target });
  return person;
}

function addNew(tx: Sql, { claims }: Arrival, { email, nowMs }: { email: string; nowMs: number }) {
  return addPersonOfProvider(tx, { email, name: nameFrom(claims, email), nowMs });
}

/** The address of the account must be the invited one, as for every other way to accept. */
async function join(tx: Sql, deps: AdmitDeps, arrival: Arrival, person: Person): Promise<void> {
  const joined = await joinByInviteHash(tx, { hash: arrival.inviteHash!, person, most: deps.mostOwned });
  if (!joined) throw new OidcRefusal("oidc_invitation", { personId: person.id });
  const { workspaceId } = joined;
  const target = { kind: "person" as const, id: person.id };
  await record(tx, actorOf(person, arrival), { action: "member.joined", workspaceId, target });
}

async function applyRole(
  tx: Sql,
  deps: AdmitDeps,
  arrival: Arrival,
  { kind, person, role }: { kind: Decision["kind"]; person: Person; role: MemberRole | undefined },
): Promise<void> {
  const { workspaceId, roleClaim } = arrival.provider;
  const decidesRole = roleClaim !== undefined;
  // Without a claim the provider gives a role once, at the sign-up: an owner may have removed the person since.
  if (workspaceId === undefined || (!decidesRole && kind !== "new") || (!decidesRole && role === undefined)) return;
  const issuer = decidesRole ? arrival.issuer : undefined;
  const claimed = { workspaceId, person, issuer, role, most: deps.mostOwned, nowMs: deps.nowMs() };
  const result = await applyClaimedRole(tx, claimed);
  if (result.change === "too many owned" && kind === "new" && arrival.inviteHash === null)
    throw new OidcRefusal("oidc_quota");
  if (result.change === "last owner" || result.change === "too many owned")
    deps.log.warn({ workspaceId, personId: person.id, kept: result.change }, "the role claim changed no membership");
  // The person joins; later changes are the provider's.
  const actor = result.change === "added" ? actorOf(person, arrival) : service;
  if ("memberId" in result) await record(tx, actor, entryOf(result, workspaceId));
}

const roleActions = { added: "member.joined", changed: "member.updated", removed: "member.removed" } as const;

function entryOf({ change, memberId }: Extract<RoleChange, { memberId: string }>, workspaceId: string) {
  const target = { kind: "member" as const, id: memberId };
  return { action: roleActions[change], workspaceId, target, fields: ["role"] };
}

function actorOf(person: Person, { address }: Arrival): Actor {
  return { kind: "person", id: person.id, personId: person.id, address };
}
