/** Checks the certificates of an open TLS connection against the host's DANE policy. Called by greet.ts.
 *
 * A trust anchor (usage 2) is usually known only by its hash, and OpenSSL can verify a chain only with an anchor that it has before the
 * handshake. So the first connection takes the anchor from the server's own chain and ends with `AnchorsNeeded`; session.ts connects
 * again with it. The pool remembers it for later connections, next to others that the same records name: the servers behind one name may
 * each have an authority of their own. */
import type { ConnectionOptions, DetailedPeerCertificate, TLSSocket } from "node:tls";
import { checkNames, type DanePolicy, type DaneResult, joinAnchors, matchChain, maxChain } from "./dane.ts";

export class AnchorsNeeded extends Error {
  override readonly name = "AnchorsNeeded";
  readonly anchors: readonly Buffer[];
  constructor(anchors: readonly Buffer[]) {
    super("the trust anchors of the server are known now: connect again");
    this.anchors = anchors;
  }
}

/** Options that make OpenSSL verify the chain, with dates and names, against the anchors alone. */
export function daneOptions({ names }: DanePolicy, anchors: readonly Buffer[] = []): ConnectionOptions {
  if (anchors.length === 0) return {};
  return {
    ca: anchors.map(toPem),
    // RFC 7671 §5.2: an anchor need not be self-signed.
    allowPartialTrustChain: true,
    checkServerIdentity: (_, certificate) => checkNames(names, certificate),
  };
}

/** Throws AnchorsNeeded if the server presents an anchor that is not among the given ones. */
export function checkDane(
  socket: TLSSocket,
  policy: DanePolicy,
  anchors: readonly Buffer[] = [],
): { result: DaneResult } | { mismatch: string } {
  if (policy.records.length === 0) return { result: "unusable" };
  const chain = chainOf(socket);
  const found = matchChain(policy, chain);
  if (found.match) return { result: "match" };
  if (anchors.length > 0 && socket.authorized) return { result: "ta-match" };
  if (found.anchors.length === 0) return { mismatch: "the server's certificate does not match any TLSA record" };
  if (!found.anchors.every((one) => anchors.some((known) => known.equals(one))))
    throw new AnchorsNeeded(joinAnchors(found.anchors, anchors));
  const error = socket.authorizationError as unknown;
  const reason = error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.message) : String(error);
  return { mismatch: `the server's certificate is not valid under the trust anchor of a TLSA record: ${reason}` };
}

/** The certificates that the server presented, its own first. */
function chainOf(socket: TLSSocket): Buffer[] {
  const chain: Buffer[] = [];
  let certificate: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  // A self-signed certificate is its own issuer.
  while (certificate?.raw && chain.length < maxChain && !chain.some((one) => one.equals(certificate!.raw))) {
    chain.push(certificate.raw);
    certificate = certificate.issuerCertificate;
  }
  return chain;
}

function toPem(certificate: Buffer): string {
  const lines = certificate.toString("base64").match(/.{1,64}/g)!;
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
