/** Turns an error of openid-client into the reason of a refusal. test/people/oidc-hostile.test.ts makes each of them happen. */
import type { OidcReason } from "../rules/oidc-refusal.ts";

type LibraryError = Error & { code?: string; error?: string; cause?: LibraryError & LibraryCause };
type LibraryCause = { claim?: string; header?: unknown; alg?: unknown };

/** Claims by which the library says what is wrong. */
const byClaim: Record<string, OidcReason> = {
  nonce: "oidc_nonce",
  iss: "oidc_issuer",
  aud: "oidc_audience",
  azp: "oidc_audience",
};

/** The library gives one code to many mistakes; its messages, of a pinned version, tell them apart. */
const byMessage: [RegExp, OidcReason][] = [
  [/"nonce"/, "oidc_nonce"],
  [/"iss"/, "oidc_issuer"],
  [/"aud"/, "oidc_audience"],
  [/"alg"|JWS algorithm|"crit"/, "oidc_algorithm"],
  [/signature|verification key/, "oidc_signature"],
];

export function reasonOf(error: unknown): OidcReason {
  const chain = causesOf(error);
  const codes = new Set(chain.map(({ code }) => code));
  if (codes.has("OAUTH_AUTHORIZATION_RESPONSE_ERROR"))
    return chain.some((one) => one.error === "access_denied") ? "oidc_denied" : "oidc_provider";
  if (codes.has("OAUTH_RESPONSE_BODY_ERROR") || codes.has("OAUTH_WWW_AUTHENTICATE_CHALLENGE")) return "oidc_provider";
  if (codes.has("OAUTH_JWT_TIMESTAMP_CHECK_FAILED")) return "oidc_expired";
  const claim = chain.find((one) => (one as LibraryCause).claim !== undefined) as LibraryCause | undefined;
  if (claim && byClaim[claim.claim!]) return byClaim[claim.claim!]!;
  for (const { message } of chain)
    for (const [pattern, reason] of byMessage) if (pattern.test(message ?? "")) return reason;
  if (codes.has("OAUTH_TIMEOUT") || isNetworkError(chain[0])) return "oidc_unavailable";
  const status = chain.find((one) => one instanceof Response) as unknown as Response | undefined;
  return status && status.status >= 500 ? "oidc_unavailable" : "oidc_answer";
}

function causesOf(error: unknown): LibraryError[] {
  const chain: LibraryError[] = [];
  for (let one = error as LibraryError | undefined; one && chain.length < 5; one = one.cause) chain.push(one);
  return chain;
}

/** What fetch throws when no answer came, or not all of it. */
function isNetworkError(error: LibraryError | undefined): boolean {
  return error instanceof TypeError && (error.message === "fetch failed" || error.message === "terminated");
}
