/** The name of this service for passkeys. A passkey belongs to one host name, and browsers offer passkeys only over https and on
 * localhost. Called by ../passkeys.ts and ../people.ts. */
import { isIP } from "node:net";

export type RelyingParty = {
  /** The host name that passkeys belong to (Web Authentication, "RP ID"). */
  id: string;
  /** The origin of pages that may use them. A page at another address of this service links to it. */
  origin: string;
};

/** Undefined if no address of this service can have passkeys: the operator has to set POSTHORN_PUBLIC_URL to an https URL with a name. */
export function relyingParty(publicUrl: string | undefined, host: string | undefined): RelyingParty | undefined {
  const url = publicUrl ?? `http://${host}`;
  if ((publicUrl === undefined && !host) || !URL.canParse(url)) return undefined;
  const { protocol, hostname, port, origin } = new URL(url);
  // An IP address cannot have passkeys, and on this machine there is a name for it.
  if (isLoopback(hostname))
    return { id: "localhost", origin: `${protocol}//localhost${port === "" ? "" : `:${port}`}` };
  if (isIP(hostname.replace(/^\[|\]$/g, "")) > 0) return undefined;
  // Anyone can send any Host header, so only a configured name counts.
  return publicUrl !== undefined && protocol === "https:" ? { id: hostname, origin } : undefined;
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
