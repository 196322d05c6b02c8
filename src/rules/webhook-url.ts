/** Which addresses a webhook may be posted to: the form of the URL, and the IP address that it leads to. Asked when a webhook is
 * saved and again each time before a connection is made. */
import { isIP } from "node:net";
import { createAddressGuard, createRangeMatch } from "./address-guard.ts";

/** `host` is a DNS name without a trailing dot, or an IP address without brackets. */
export type WebhookTarget = { url: string; protocol: "https:" | "http:"; host: string; port: number };

export const maxUrlLength = 2048;

/** Ports on which other protocols listen: what looks like a webhook there is meant for something else. */
const foreignPorts = new Set([21, 22, 23, 25, 53, 110, 119, 139, 143, 389, 445, 465, 563, 587, 636, 993, 995, 2525]);

export type WebhookGuard = {
  /** The target of a URL, or a sentence that says what to change. */
  read(text: string): WebhookTarget | { problem: string };
  /** Whether a request of this target may go to this address. */
  allows(target: WebhookTarget, ip: string): boolean;
};

/** `allowCidrs`: ranges that the operator opens, private ones included and with http. */
export function createWebhookGuard(options: { allowCidrs: readonly string[] }): WebhookGuard {
  const mayConnect = createAddressGuard(options);
  const isOpened = createRangeMatch(options.allowCidrs);
  const allows = ({ protocol }: WebhookTarget, ip: string) => (protocol === "https:" ? mayConnect(ip) : isOpened(ip));
  return {
    allows,
    read(text) {
      const target = readTarget(text, options.allowCidrs.length > 0);
      if ("problem" in target || isIP(target.host) === 0 || allows(target, target.host)) return target;
      return { problem: refusedAddress(target, target.host) };
    },
  };
}

/** Why an address is refused, for whoever owns the webhook. */
export function refusedAddress(target: WebhookTarget, ip: string): string {
  const where = target.host === ip ? `leads to ${ip}` : `leads to ${target.host}, which is at ${ip}`;
  if (target.protocol === "http:")
    return `${where}; http is only for ranges that the operator opens with POSTHORN_ALLOW_PRIVATE_WEBHOOKS: use https`;
  return `${where}, a private or reserved address: use one that the internet can reach, or have the operator open its range with POSTHORN_ALLOW_PRIVATE_WEBHOOKS`;
}

function readTarget(text: string, httpIsKnown: boolean): WebhookTarget | { problem: string } {
  if (text === "") return { problem: "is required: the https address that events are posted to" };
  if (text.length > maxUrlLength)
    return { problem: `must have at most ${maxUrlLength} characters, has ${text.length}` };
  // The URL parser drops tabs and line ends silently: what is shown must be what is called.
  if (/[\p{Cc}\s]/u.test(text) || !text.isWellFormed())
    return { problem: "must not hold spaces or control characters" };
  if (!URL.canParse(text)) return { problem: `is not a URL; write for example https://example.com/webhooks` };
  const url = new URL(text);
  const { protocol } = url;
  if (protocol !== "https:" && !(protocol === "http:" && httpIsKnown))
    return { problem: `must start with https://, starts with ${protocol.slice(0, 20)}` };
  if (url.username !== "" || url.password !== "")
    return { problem: "must not hold a user name or password: deliveries are proved by their signature" };
  // The parser has turned octal, hexadecimal, shortened and full-width spellings of an address into the usual one by now.
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  if (!isNameOrAddress(host)) return { problem: "has no host name that DNS could know" };
  const port = Number(url.port) || (protocol === "https:" ? 443 : 80);
  if (foreignPorts.has(port)) return { problem: `must not lead to port ${port}, which belongs to another protocol` };
  url.hash = "";
  // A name is asked for as it stands, with or without the dot at its end: one form is enough.
  if (url.hostname.endsWith(".")) url.hostname = host;
  if (url.href.length > maxUrlLength) return { problem: `must have at most ${maxUrlLength} characters once encoded` };
  return { url: url.href, protocol, host, port };
}

/** RFC 1123 §2.1, with the underscore that many names have. */
function isNameOrAddress(host: string): boolean {
  if (isIP(host) !== 0) return true;
  return host.length <= 253 && host.split(".").every((label) => /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label));
}
