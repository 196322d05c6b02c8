/** Where and how a client session connects: the target (one address of one host) and the timeout of each phase. */
import type { DanePolicy } from "./dane.ts";

/**
 * `opportunistic` accepts any certificate and falls back to plaintext; `required` needs TLS and accepts any certificate;
 * `verified` needs a certificate that is valid for the host's name.
 */
export type TlsPolicy = "none" | "opportunistic" | "required" | "verified";

export interface Target {
  /** The name of the MX host or relay. Certificates are checked against it, and events show it. */
  host: string;
  /** The IP address to connect to. The address guard has allowed it; the session does no DNS lookup. */
  address: string;
  port: number;
  heloName: string;
  tls: TlsPolicy;
  /** TLS from the first byte (port 465) instead of STARTTLS. */
  implicitTls?: boolean;
  /** What the host's TLSA records require of its certificate. `tls` is then `required` or `verified`. */
  dane?: DanePolicy;
  /** The name that the certificate must contain, if not `host`. */
  tlsName?: string;
  /** Certificate authorities to use instead of the system's. */
  tlsCa?: string;
  localAddress?: string;
  auth?: { user: string; password: string; allowPlaintext?: boolean };
}

/** Targets with equal keys may share an open session. The address is not part of the key: all addresses of a host are equal. */
export function targetKey(target: Target): string {
  return JSON.stringify([
    target.host,
    target.port,
    target.tls,
    target.implicitTls ?? false,
    target.tlsName ?? "",
    target.dane?.key ?? "",
    target.localAddress ?? "",
    target.heloName,
    target.auth?.user ?? "",
  ]);
}

/** Throws for a target that would be unsafe to use, which is a bug or a wrong setting. */
export function checkTarget(target: Target): void {
  if (!/^[A-Za-z0-9.:[\]_-]+$/.test(target.heloName)) {
    throw new TypeError(`HELO name ${JSON.stringify(target.heloName)} is not a host name`);
  }
  if (target.dane && target.tls !== "required" && target.tls !== "verified")
    throw new TypeError("DANE needs a TLS policy without fallback");
  if (target.implicitTls && target.tls === "none")
    throw new TypeError('implicit TLS needs a TLS policy other than "none"');
  if (target.auth && /\0/.test(target.auth.user + target.auth.password))
    throw new TypeError("the SMTP user or password contains NUL");
}

/** How long the client waits in each phase. RFC 5321 §4.5.3.2 sets the values that cite it; an operator may shorten all of them. */
export const defaultTimeouts = {
  connectMs: 30_000,
  bannerMs: 5 * 60_000, // §4.5.3.2.1
  ehloMs: 5 * 60_000,
  tlsMs: 60_000,
  authMs: 2 * 60_000,
  mailMs: 5 * 60_000, // §4.5.3.2.2
  rcptMs: 5 * 60_000, // §4.5.3.2.3
  dataMs: 2 * 60_000, // §4.5.3.2.4
  bodyMs: 3 * 60_000, // §4.5.3.2.5, per chunk
  dotMs: 10 * 60_000, // §4.5.3.2.6
  quitMs: 5_000,
  /** From connecting until the session is ready for the first MAIL. */
  openMs: 10 * 60_000,
  /** One transaction, from MAIL to the reply to the final dot. */
  transactionMs: 30 * 60_000,
} as const;

export type Timeouts = { readonly [name in keyof typeof defaultTimeouts]: number };
