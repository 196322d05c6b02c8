/** Checks that a request with a session cookie comes from our own pages. Browsers add cookies by themselves, so without this check a page
 * of another site, or of another program on this machine, could act as the signed-in person. Called by people/pages.ts and
 * people/session-caller.ts. */
import { Problem } from "../ops/problem.ts";

export type OriginHeaders = { origin: string | undefined; site: string | undefined; host: string | undefined };

/** Browsers set these headers, and pages cannot change them. A request without them is not accepted. */
export function isSameOrigin({ origin, site, host }: OriginHeaders, publicUrl: string | undefined): boolean {
  // Browsers send Sec-Fetch-Site over https and to localhost. Over plain http there is only Origin.
  if (site !== undefined) return site === "same-origin";
  if (origin === undefined || !URL.canParse(origin)) return false;
  const from = new URL(origin);
  if (publicUrl !== undefined && from.origin === new URL(publicUrl).origin) return true;
  return host !== undefined && from.host === host.toLowerCase();
}

export function requireSameOrigin(header: (name: string) => string | undefined, publicUrl: string | undefined): void {
  const headers = { origin: header("origin"), site: header("sec-fetch-site"), host: header("host") };
  if (isSameOrigin(headers, publicUrl)) return;
  throw new Problem(
    "permission_denied",
    "A session works only from pages of this service: Origin or Sec-Fetch-Site must match it. Programs must use an API key.",
  );
}
