/** A signed-in person proves anew who they are, by signing in at a linked provider again. The proof is as old as the provider says. Called by
 * flow.ts after the provider's answer was validated. */
import { audited } from "../../audit/record.ts";
import { isFresh } from "../../http/proof.ts";
import type { Sql } from "../../postgres/pool.ts";
import { personActor, type Visitor } from "../open-session.ts";
import { OidcRefusal } from "../rules/oidc-refusal.ts";
import { type Provider, sameIssuer } from "../rules/provider.ts";
import { type FactorProvider, hasSecondFactor, replacesFactor } from "../second-factor.ts";
import { type Factors, findFactors } from "../store/factors.ts";
import { findByIdentity, listIdentities } from "../store/identities.ts";
import { personOfSession } from "../store/oidc-flows.ts";
import { allowFirstFactor, renewProof } from "../store/sessions.ts";
import type { Answered, OidcClient } from "./client.ts";

type ConfirmDeps = { sql: Sql; client: Pick<OidcClient, "saysWhen">; providers: readonly Provider[] };

export async function confirm(
  { sql, client, providers }: ConfirmDeps,
  sessionId: string,
  { provider, visitor, signedInAgoMs, ...answered }: Answered & { provider: Provider; visitor: Visitor },
): Promise<void> {
  const person = await personOfSession(sql, sessionId);
  if (!person) throw new OidcRefusal("oidc_session");
  const refusal = { personId: person.id };
  if ((await findByIdentity(sql, answered))?.id !== person.id) throw new OidcRefusal("oidc_other_account", refusal);
  if (!replacesFactor(provider, await findFactors(sql, person.id))) throw new OidcRefusal("oidc_needs_factor", refusal);
  // Another provider, which is trusted, gave this session its second factor.
  if (!provider.secondFactorTrusted && person.hasSecondFactor && (await hasSecondFactor(sql, person.id, providers)))
    throw new OidcRefusal("oidc_needs_factor", refusal);
  if (signedInAgoMs === undefined) {
    // The request is not signed: without `max_age` and `prompt`, such a provider asks nothing and omits the time.
    if ((await client.saysWhen(provider)) === true) throw new OidcRefusal("oidc_no_auth_time", refusal);
    await allowFirstFactor(sql, sessionId);
    throw new OidcRefusal("oidc_auth_time", refusal);
  }
  if (!isFresh(signedInAgoMs)) throw new OidcRefusal("oidc_not_recent", refusal);
  const proof = { id: sessionId, withSecondFactor: provider.secondFactorTrusted, agoMs: signedInAgoMs };
  const isRenewed = await audited(
    sql,
    personActor(person.id, visitor),
    (tx) => renewProof(tx, proof),
    (done) => (done ? { action: "session.confirmed", target: { kind: "session", id: sessionId } } : undefined),
  );
  if (!isRenewed) throw new OidcRefusal("oidc_session", refusal);
}

/** The linked providers with which the person can confirm. */
export async function confirmingProviders<T extends FactorProvider>(
  sql: Sql,
  personId: string,
  { factors, providers }: { factors: Factors; providers: readonly T[] },
): Promise<T[]> {
  const usable = providers.filter((provider) => replacesFactor(provider, factors));
  if (usable.length === 0) return [];
  const linked = await listIdentities(sql, personId);
  return usable.filter((provider) => linked.some(({ issuer }) => sameIssuer(issuer, provider.issuer)));
}
