/** Whether a person can sign in with a second factor: an authenticator app, a passkey, or a linked account at a provider that counts as
 * one. Called by oidc/, confirm.ts, people.ts and when an operator is appointed. */
import type { Sql } from "../postgres/pool.ts";
import { type ProviderSettings, sameIssuer } from "./rules/provider.ts";
import { type Factors, findFactors, hasFactor } from "./store/factors.ts";
import { listIdentities } from "./store/identities.ts";
import type { LiveSession } from "./store/sessions.ts";

export type FactorProvider = Pick<ProviderSettings, "issuer" | "secondFactorTrusted">;

/** Whether a sign-in at the provider is enough of a proof for a person with these factors. */
export function replacesFactor({ secondFactorTrusted }: FactorProvider, factors: Factors): boolean {
  return secondFactorTrusted || !hasFactor(factors);
}

export async function hasSecondFactor(
  sql: Sql,
  personId: string,
  providers: readonly FactorProvider[],
): Promise<boolean> {
  if (hasFactor(await findFactors(sql, personId))) return true;
  const trusted = providers.filter(({ secondFactorTrusted }) => secondFactorTrusted);
  const linked = await listIdentities(sql, personId);
  return linked.some(({ issuer }) => trusted.some((one) => sameIssuer(one.issuer, issuer)));
}

/** A trusted provider is the only second factor of the person, and of this session. A password alone does not replace it. But a session that
 * may add a first factor has just come from a provider that cannot confirm: with it, the password is enough. */
export async function needsTrustedProvider(
  sql: Sql,
  live: Pick<LiveSession, "personId" | "hasSecondFactor" | "mayAddFirstFactor">,
  { factors, providers }: { factors: Factors; providers: readonly FactorProvider[] },
): Promise<boolean> {
  if (!live.hasSecondFactor || live.mayAddFirstFactor || hasFactor(factors)) return false;
  return await hasSecondFactor(sql, live.personId, providers);
}
