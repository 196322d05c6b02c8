/** The rules of DANE for SMTP (RFC 7672, RFC 7671): which TLSA records are usable, and whether a server's certificates match them.
 * tlsa.ts finds the records, greet.ts applies the policy to a connection. */
import { createHash, createPublicKey, X509Certificate } from "node:crypto";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import { readPublicKeyInfo } from "./certificate-key.ts";

export type TlsaRecord = { usage: number; selector: number; matching: number; data: Uint8Array };

/** What the TLSA records of one MX host require. TLS is mandatory under every policy. */
export interface DanePolicy {
  /** The name whose TLSA records apply. RFC 7672 §8.1: if one is usable, the handshake names this server. */
  base: string;
  /** The usable records, without those that a stronger digest replaces. If there are none, any certificate is accepted (RFC 7672 §2.2). */
  records: readonly TlsaRecord[];
  /** The names of which a certificate issued by a trust anchor (usage 2) must contain one. */
  names: readonly string[];
  /** Equal for policies with the same base name and records: they have the same trust anchors. */
  recordsKey: string;
  /** Equal for policies that require the same, so that their deliveries may share connections. */
  key: string;
}

/** How a connection met the policy. `match`: usage 3. `ta-match`: usage 2. `unusable`: the policy has no usable record. */
export type DaneResult = "match" | "ta-match" | "unusable";

const trustAnchor = 2;
const endEntity = 3;
/** Certificates of a server's chain that are compared with the records. */
export const maxChain = 10;
/** Whole certificates of a set of records that are parsed. Hundreds fit in an answer, and parsing them takes 13 ms for each delivery. */
const maxCertificates = 20;
/** Trust anchors that OpenSSL gets for one connection. */
const maxAnchors = 8;

export function createDanePolicy(input: { base: string; records: readonly TlsaRecord[]; names: readonly string[] }) {
  const { base } = input;
  const records = withStrongestDigests(usableOf(input.records));
  // Only usage 2 looks at names. Without it, the domains that a host serves share its connections.
  const names = records.some(({ usage }) => usage === trustAnchor) ? [...new Set([base, ...input.names])] : [];
  const hash = createHash("sha256").update(JSON.stringify(base));
  const encoded = records.map(({ usage, selector, matching, data }) =>
    Buffer.concat([Buffer.from([usage, selector, matching]), data]),
  );
  for (const one of encoded.sort(Buffer.compare)) hash.update(`${one.length} `).update(one);
  const recordsKey = hash.digest("base64");
  return { base, records, names, recordsKey, key: recordsKey + JSON.stringify(names) } satisfies DanePolicy;
}

function usableOf(records: readonly TlsaRecord[]): TlsaRecord[] {
  const isWhole = ({ usage, selector, matching }: TlsaRecord) => usage >= trustAnchor && selector + matching === 0;
  const ignored = new Set(records.filter(isWhole).slice(maxCertificates));
  return records.filter((record) => !ignored.has(record) && isUsable(record));
}

/** RFC 7672 §3.1.3: usages 0 and 1 are not usable for SMTP. RFC 7671 §4: neither are unknown parameters and malformed data. */
function isUsable({ usage, selector, matching, data }: TlsaRecord): boolean {
  if (usage !== trustAnchor && usage !== endEntity) return false;
  if (selector === 0 && matching === 0) return isCertificate(data);
  if (selector === 1 && matching === 0) return isSequence(data);
  return (selector === 0 || selector === 1) && data.length === { 1: 32, 2: 64 }[matching];
}

/** RFC 7671 §9: next to SHA-512 for the same usage and selector, SHA-256 does not count. */
function withStrongestDigests(records: readonly TlsaRecord[]): TlsaRecord[] {
  const kindOf = ({ usage, selector }: TlsaRecord) => `${usage} ${selector}`;
  const strong = new Set(records.filter(({ matching }) => matching === 2).map(kindOf));
  return records.filter((record) => record.matching !== 1 || !strong.has(kindOf(record)));
}

function isCertificate(data: Uint8Array): boolean {
  try {
    return isSequence(data) && readPublicKeyInfo(new X509Certificate(data).raw) !== undefined;
  } catch {
    return false;
  }
}

/** True if the data is exactly one DER sequence. */
function isSequence(data: Uint8Array): boolean {
  if (data[0] !== 0x30 || data.length < 2) return false;
  const short = data[1]!;
  if (short < 0x80) return data.length === 2 + short;
  const size = short - 0x80;
  if (size < 1 || size > 3 || data.length < 2 + size) return false;
  let length = 0;
  for (const byte of data.subarray(2, 2 + size)) length = length * 256 + byte;
  return data.length === 2 + size + length;
}

/**
 * Compares the certificates that a server presented, its own first, with the policy's records. Usage 3 matches the server's own
 * certificate, whatever its names and dates (RFC 7672 §3.1.1). For usage 2, `anchors` are the certificates that OpenSSL must
 * verify the chain with: those of the chain that match a record, and those that a record contains (RFC 7671 §5.2.2). If there are none,
 * the last certificate of the chain is the anchor where a record contains the key that signed it (RFC 7671 §5.2.3).
 */
export function matchChain(
  { records }: DanePolicy,
  chain: readonly Buffer[],
): { match: true } | { match: false; anchors: Buffer[] } {
  const certificates = chain.slice(0, maxChain).map(digestsOf);
  const [own] = certificates;
  if (own && records.some((record) => record.usage === endEntity && matches(record, own))) return { match: true };
  const issuers = records.filter(({ usage }) => usage === trustAnchor);
  const presented = chain.filter(
    (_, index) => index < certificates.length && issuers.some((record) => matches(record, certificates[index]!)),
  );
  const contained = issuers.filter(({ selector, matching }) => selector === 0 && matching === 0);
  const anchors = [...presented, ...contained.map(({ data }) => Buffer.from(data))];
  const last = chain.slice(0, maxChain).at(-1);
  if (anchors.length === 0 && last && isSignedByKeyOf(issuers, last)) anchors.push(last);
  return { match: false, anchors: joinAnchors(anchors, []) };
}

/** The newer anchors come first, because their number is limited. */
export function joinAnchors(newer: readonly Buffer[], older: readonly Buffer[]): Buffer[] {
  return distinct([...newer, ...older]).slice(0, maxAnchors);
}

/** True if one of the records contains the public key that signed the certificate. Signatures take time, so few keys are tried. */
function isSignedByKeyOf(issuers: readonly TlsaRecord[], certificate: Buffer): boolean {
  const keys = issuers.filter(({ selector, matching }) => selector === 1 && matching === 0).slice(0, maxAnchors);
  return keys.some(({ data }) => {
    try {
      const key = createPublicKey({ key: Buffer.from(data), format: "der", type: "spki" });
      return new X509Certificate(certificate).verify(key);
    } catch {
      return false;
    }
  });
}

type Digests = (selector: number, matching: number) => Buffer | undefined;

/** The values that records are compared with, each computed at most once. */
function digestsOf(certificate: Buffer): Digests {
  const known = new Map<number, Buffer | undefined>();
  return (selector, matching) => {
    const key = selector * 3 + matching;
    if (!known.has(key)) {
      const selected = selector === 0 ? certificate : readPublicKeyInfo(certificate);
      known.set(key, selected && (matching === 0 ? selected : hashOf(matching, selected)));
    }
    return known.get(key);
  };
}

function hashOf(matching: number, selected: Buffer): Buffer {
  return createHash(matching === 1 ? "sha256" : "sha512")
    .update(selected)
    .digest();
}

function matches({ selector, matching, data }: TlsaRecord, digests: Digests): boolean {
  return digests(selector, matching)?.equals(data) ?? false;
}

function distinct(certificates: readonly Buffer[]): Buffer[] {
  return [...new Map(certificates.map((one) => [one.toString("base64"), one])).values()];
}

/** RFC 7672 §3.2.2: the certificate must contain one of the names. Returns the error for the first name if it contains none. */
export function checkNames(names: readonly string[], certificate: PeerCertificate): Error | undefined {
  const errors = names.map((name) => checkServerIdentity(name, certificate));
  return errors.includes(undefined) ? undefined : errors[0];
}
