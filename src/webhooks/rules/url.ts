/** Checks where a webhook may be posted to: the form of the URL, and the IP address behind it. Called when a webhook is saved and again
 * before every connection. */
import { isIP } from "node:net";
import { createAddressGuard, createRangeMatch } from "../../dns/address-guard.ts";

/** `host` is a DNS name without a trailing dot, or an IP address without brackets. */
export type WebhookTarget = { url: string; protocol: "https:" | "http:"; host: string; port: number };

export const maxUrlLength = 2048;
const maxKnownAddresses = 1000;

/** Ports of other protocols: a request to one of them is likely an attack on that service. */
const foreignPorts = new Set([21, 22, 23, 25, 53, 110, 119, 139, 143, 389, 445, 465, 563, 587, 636, 993, 995, 2525]);

export type WebhookGuard = {
  /** The target of a URL, or a sentence about what to change. */
  read(text: string): WebhookTarget | { problem: string };
  /** Whether a request for this target may connect to this address. */
  allows(target: WebhookTarget, ip: string): boolean;
};

/** `allowCidrs`: ranges that the operator allows, also private ones and also over http. */
export function createWebhookGuard(options: { allowCidrs: readonly string[] }): WebhookGuard {
  const mayConnect = createAddressGuard(options);
  const inAllowedRange = createRangeMatch(options.allowCidrs);
  /** The answers so far, which depend on nothing else. Comparing an address with all ranges takes long for something that each request does. */
  const known = { "https:": new Map<string, boolean>(), "http:": new Map<string, boolean>() };
  const allows = ({ protocol }: WebhookTarget, ip: string) => {
    const answers = known[protocol];
    const answer = answers.get(ip) ?? (protocol === "https:" ? mayConnect(ip) : inAllowedRange(ip));
    if (answers.size >= maxKnownAddresses) answers.clear();
    answers.set(ip, answer);
    return answer;
  };
  return {
    allows,
    read(text) {
      const target = readTarget(text, options.allowCidrs.length > 0);
      if ("problem" in target || isIP(target.host) === 0 || allows(target, target.host)) return target;
      return { problem: refusedAddress(target) };
    },
  };
}

/** Why a target is refused, for the owner of the webhook. The text does not contain the address that a name resolves to: a tenant could
 * otherwise read the operator's internal DNS. */
export function refusedAddress(target: WebhookTarget): string {
  const where = `points to ${target.host}`;
  if (target.protocol === "http:")
    return `${where}; http is allowed only for ranges that the operator lists in POSTHORN_ALLOW_PRIVATE_WEBHOOKS: use https`;
  const what =
    isIP(target.host) === 0 ? "which resolves to an address that is not public" : "a private or reserved address";
  return `${where}, ${what}: use a public one, or ask the operator to list its range in POSTHORN_ALLOW_PRIVATE_WEBHOOKS`;
}

function readTarget(text: string, allowHttp: boolean): WebhookTarget | { problem: string } {
  if (text === "") return { problem: "is required: the https address that events are posted to" };
  if (text.length > maxUrlLength)
    return { problem: `must have at most ${maxUrlLength} characters, has ${text.length}` };
  // The URL parser silently drops tabs and line breaks, so that the URL shown would differ from the URL called.
  if (/[\p{Cc}\s]/u.test(text) || !text.isWellFormed())
    return { problem: "must not contain spaces or control characters" };
  if (!URL.canParse(text)) return { problem: `is not a URL; write for example https://example.com/webhooks` };
  const url = new URL(text);
  const { protocol } = url;
  if (protocol !== "https:" && !(protocol === "http:" && allowHttp))
    return { problem: `must start with https://, starts with ${protocol.slice(0, 20)}` };
  if (url.username !== "" || url.password !== "")
    return { problem: "must not contain a user name or password: receivers verify deliveries by their signature" };
  // The parser has already normalized octal, hexadecimal, shortened and full-width spellings of an IP address.
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  if (!isNameOrAddress(host)) return { problem: "has no valid host name" };
  const port = Number(url.port) || (protocol === "https:" ? 443 : 80);
  if (foreignPorts.has(port)) return { problem: `must not use port ${port}, which belongs to another protocol` };
  url.hash = "";
  // A trailing dot does not change the name, so one form is stored.
  if (url.hostname.endsWith(".")) url.hostname = host;
  if (url.href.length > maxUrlLength) return { problem: `must have at most ${maxUrlLength} characters once encoded` };
  return { url: url.href, protocol, host, port };
}

/** RFC 1123 §2.1, plus the underscore, which many names contain. */
function isNameOrAddress(host: string): boolean {
  if (isIP(host) !== 0) return true;
  return host.length <= 253 && host.split(".").every((label) => /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label));
}
