/** The check of posthorn doctor on one-click unsubscribe: mail programs post to the public https address, so it has to reach this service. */
import { isIP } from "node:net";
import { isPublicAddress } from "../../../dns/address-guard.ts";
import { isReserved } from "../../../domains/publish.ts";
import { canHoldLinks, linkPath } from "../../../suppressions/unsubscribe/links.ts";
import type { Config } from "../../config.ts";
import type { Finding } from "./finding.ts";

const check = "one-click";
const withinMs = 5_000;

/** `ask` returns the response to a request of this URL. */
export async function unsubscribeChecks(
  { publicUrl, delivery }: Pick<Config, "publicUrl" | "delivery">,
  ask: (url: string) => Promise<Pick<Response, "status" | "headers">> = request,
): Promise<Finding[]> {
  const warn = (found: string, fix: string): Finding[] => [{ check, result: "warn", found, fix }];
  const set = "Set POSTHORN_PUBLIC_URL to the https address of this service, such as https://mail.example.com.";
  if (!canHoldLinks(publicUrl))
    return warn(
      `emails with one-click unsubscribe are refused: POSTHORN_PUBLIC_URL ${publicUrl === undefined ? "is not set" : `is ${publicUrl}`}`,
      set,
    );
  const host = new URL(publicUrl).hostname.replace(/^\[|\]$/g, "");
  // Captured mail is read on this machine.
  if (delivery === "capture")
    return [{ check, result: "ok", found: `unsubscribe links begin with ${publicUrl}${linkPath}` }];
  const isHidden = isIP(host) ? !isPublicAddress(host) : isReserved(host);
  if (isHidden) return warn(`mail programs cannot reach ${host}, the host of unsubscribe links`, set);
  const url = `${publicUrl}${linkPath}check`;
  try {
    const { status, headers } = await ask(url);
    // What endpoint.ts answers to a link that it does not know.
    if (status === 404 && headers.has("x-robots-tag"))
      return [
        {
          check,
          result: "ok",
          found: `unsubscribe links begin with ${publicUrl}${linkPath}, and Posthorn answers there`,
        },
      ];
    return warn(
      `${url} answers with status ${status}, and not as Posthorn`,
      `Let the proxy forward ${linkPath} with GET and POST to Posthorn, without a redirect or a login.`,
    );
  } catch (error) {
    const { message, cause } = error as Error;
    const reason = (cause as Error | undefined)?.message || message;
    return warn(
      `unsubscribe links cannot be checked: ${url} does not answer from here: ${reason}`,
      "Open the address from another network. Mail programs need a valid certificate.",
    );
  }
}

async function request(url: string): Promise<Response> {
  return await fetch(url, { method: "HEAD", redirect: "manual", signal: AbortSignal.timeout(withinMs) });
}
