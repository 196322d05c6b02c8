/** Where a client session connects and how: one address of one host. Sessions to equal targets may be shared. */

/**
 * `opportunistic` takes any certificate and is content without TLS; `required` wants TLS with any certificate;
 * `verified` wants a certificate that proves the host's name.
 */
export type TlsPolicy = "none" | "opportunistic" | "required" | "verified";

export interface Target {
  /** The name looked up (an MX host, a relay): certificates are checked against it, people read it. */
  host: string;
  /** The IP address connected to. It has passed the guard; no name is looked up from here on. */
  address: string;
  port: number;
  heloName: string;
  tls: TlsPolicy;
  /** TLS from the first byte (port 465) in place of STARTTLS. */
  implicitTls?: boolean;
  /** Another name to find in the certificate than `host`. */
  tlsName?: string;
  /** Certificate authorities in place of the system's. */
  tlsCa?: string;
  localAddress?: string;
  auth?: { user: string; password: string; allowPlaintext?: boolean };
}

/** Equal keys may share a warm session: the address is left out, since any address of a host will do. */
export function targetKey(target: Target): string {
  return JSON.stringify([
    target.host,
    target.port,
    target.tls,
    target.implicitTls ?? false,
    target.tlsName ?? "",
    target.localAddress ?? "",
    target.heloName,
    target.auth?.user ?? "",
  ]);
}

/** A target that could not be spoken to safely is a mistake in the program or its configuration. */
export function checkTarget(target: Target): void {
  if (!/^[A-Za-z0-9.:[\]_-]+$/.test(target.heloName)) {
    throw new TypeError(`HELO name ${JSON.stringify(target.heloName)} is not a host name`);
  }
  if (target.implicitTls && target.tls === "none") throw new TypeError("TLS from the first byte needs a TLS policy");
  if (target.auth && /\0/.test(target.auth.user + target.auth.password)) throw new TypeError("NUL in credentials");
}
