/** What the settings say about a provider of single sign-on, and what its claims say about a person. Called by oidc/ and app/. */

export type MemberRole = "owner" | "developer" | "viewer";

/** POSTHORN_OIDC_<NAME>_…, as read by app/oidc-settings.ts. */
export type ProviderSettings = {
  /** The operator may change it: accounts are linked with the issuer. */
  name: string;
  label: string;
  issuer: string;
  clientId: string;
  clientSecret: string | undefined;
  scopes: string;
  /** Lower-case. */
  domains: readonly string[];
  /** A name or an id. */
  workspace: string | undefined;
  /** The full name of the setting, for messages. */
  workspaceSetting: string;
  role: MemberRole;
  roleClaim: string | undefined;
  roles: readonly { value: string; role: MemberRole }[];
  emailVerifiedClaim: string;
  secondFactorTrusted: boolean;
  /** The provider cannot confirm, whatever its discovery document says about auth_time. */
  neverSaysWhen: boolean;
};

/** A provider whose workspace was found. */
export type Provider = ProviderSettings & { workspaceId: string | undefined };

/** As openid-client compares them: https://login.example.com and https://login.example.com/ are one. */
export function sameIssuer(a: string, b: string): boolean {
  return URL.canParse(a) && URL.canParse(b) && new URL(a).href === new URL(b).href;
}

export type Claims = Readonly<Record<string, unknown>>;

const ranks: readonly MemberRole[] = ["owner", "developer", "viewer"];

/** The highest role that the claim gives. Undefined: none. The claim is a text or a list of texts. */
export function roleOfClaims(claims: Claims, provider: Pick<Provider, "roleClaim" | "roles">): MemberRole | undefined {
  if (provider.roleClaim === undefined) return undefined;
  const found = claimAt(claims, provider.roleClaim);
  const values = new Set(Array.isArray(found) ? found : [found]);
  const given = provider.roles.filter(({ value }) => values.has(value)).map(({ role }) => role);
  return ranks.find((role) => given.includes(role));
}

/** `realm_access.roles` is a claim of that name, or else `roles` in the object `realm_access`. */
export function claimAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let at: unknown = claims;
  for (const step of path.split(".")) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, step)) return undefined;
    at = (at as Claims)[step];
  }
  return at;
}

/** A provider that says `email_verified: false` is right, whatever another claim says. */
export function isVerified(claims: Claims, claim: string): boolean {
  const isDenied = claims.email_verified !== undefined && !isYes(claims.email_verified);
  return !isDenied && isYes(claimAt(claims, claim));
}

/** Some providers write booleans as texts. Everything else, and a missing claim, is a no. */
function isYes(value: unknown): boolean {
  return [true, "true", 1, "1"].includes(value as never);
}

/** The claims of the ID token, completed by those of the UserInfo endpoint. Whether an address is verified counts only for the address that
 * the same answer contains. */
export function mergeClaims(idToken: Claims, userInfo: Claims, verifiedClaim: string): Claims {
  const merged: Record<string, unknown> = { ...userInfo, ...idToken };
  if (idToken.email !== undefined && idToken.email !== userInfo.email) merged[verifiedClaim] = idToken[verifiedClaim];
  else if (idToken.email === undefined) merged[verifiedClaim] = userInfo[verifiedClaim];
  return merged;
}

/** Subdomains are domains of their own. */
export function isAllowedDomain(email: string, domains: readonly string[]): boolean {
  return domains.includes(email.slice(email.lastIndexOf("@") + 1).toLowerCase());
}

/** The name for a new person: what the provider says, without characters that names may not have, or the address's local part. */
export function nameFrom(claims: Claims, email: string): string {
  const claimed = typeof claims.name === "string" ? claims.name : "";
  const clean = claimed
    .toWellFormed()
    .replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, " ")
    .replace(/\s+/g, " ")
    .trim();
  return [...clean].slice(0, 100).join("").trim() || email.slice(0, email.lastIndexOf("@"));
}

/** A path of this service, or the start page: an address of another site, also one that a browser makes of a path, never passes. */
export function localPath(text: string): string {
  if (!/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,500}$/.test(text)) return "/";
  const origin = "http://here.invalid";
  const url = URL.canParse(text, origin) ? new URL(text, origin) : undefined;
  if (url?.origin !== origin || url.pathname.startsWith("//") || url.pathname.startsWith("/auth/")) return "/";
  return url.pathname + url.search + url.hash;
}
