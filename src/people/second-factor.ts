/** Whether a person can sign in with a second factor: an authenticator app, a passkey, or a linked account at a provider that counts as
 * one. Called by oidc/methods.ts and when an operator is appointed. */
import type { Sql } from "../postgres/pool.ts";
import { type ProviderSettings, sameIssuer } from "./rules/provider.ts";
import { findFactors, hasFactor } from "./store/factors.ts";
import { listIdentities } from "./store/identities.ts";

export type FactorProvider = Pick<ProviderSettings, "issuer" | "secondFactorTrusted">;

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
