/** When a person signed in at a provider, by the claim `auth_time` of its ID token. Called by oidc/client.ts. */

/** How far the provider's clock may be from the database's. */
export const toleranceMs = 60_000;

/** Milliseconds since then; undefined if the provider does not say it, or names a time that is still to come or no time at all. `nowMs` is the database's wall
 * time. */
export function agoOf(authTime: unknown, nowMs: number): number | undefined {
  // PostgreSQL refuses intervals of more than 178,000,000 years.
  if (typeof authTime !== "number" || !(authTime >= 0)) return undefined;
  const agoMs = nowMs - authTime * 1000;
  return agoMs < -toleranceMs ? undefined : Math.max(0, agoMs);
}
