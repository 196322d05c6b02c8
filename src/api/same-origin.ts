/** Whether a request that carries a cookie was made by our own pages. Cookies travel by themselves, so another site's page, or another
 * program's page on this machine, could else act as the person who happens to be signed in. */
import { Problem } from "../rules/problem.ts";

export type OriginHeaders = { origin: string | undefined; site: string | undefined; host: string | undefined };

/** Browsers set these headers and let no page change them. Where they say nothing, the answer is no. */
export function isSameOrigin({ origin, site, host }: OriginHeaders, publicUrl: string | undefined): boolean {
  // Sent to https and to this machine itself; plain http elsewhere has the Origin alone.
  if (site !== undefined) return site === "same-origin";
  if (origin === undefined || !URL.canParse(origin)) return false;
  const from = new URL(origin);
  if (publicUrl !== undefined && from.origin === new URL(publicUrl).origin) return true;
  return host !== undefined && from.host === host.toLowerCase();
}

export function requireSameOrigin(header: (name: string) => string | undefined, publicUrl: string | undefined): void {
  const seen = { origin: header("origin"), site: header("sec-fetch-site"), host: header("host") };
  if (isSameOrigin(seen, publicUrl)) return;
  throw new Problem(
    "permission_denied",
    "A session works only for pages of this service: the request must say so with Origin or Sec-Fetch-Site. Programs use an API key.",
  );
}
