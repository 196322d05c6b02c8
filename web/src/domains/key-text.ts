/** What the page of a domain says about one DKIM key: its mark, where it comes from, and the name of an exported file. */
import { type DkimKey, RecordStatus } from "../../../src/gen/v1/domain_pb.ts";
import type { Tone } from "../parts/outcome.tsx";

export function keyMark(key: Pick<DkimKey, "signing" | "signsFrom" | "status">): { text: string; tone: Tone } {
  if (key.signing) return { text: "Signing", tone: "delivered" };
  if (key.signsFrom) return { text: "New", tone: "queued" };
  switch (key.status) {
    case RecordStatus.FOUND:
      return { text: "Standby", tone: "canceled" };
    case RecordStatus.MISMATCH:
      return { text: "Wrong value in DNS", tone: "bounced" };
    case RecordStatus.MISSING:
      return { text: "Not in DNS", tone: "delayed" };
    default:
      return { text: "Not checked", tone: "queued" };
  }
}

/** Such as "RSA-2048, imported". Three primes are named, because other programs cannot use such a key. */
export function keyFacts({ bits, primes, imported }: Pick<DkimKey, "bits" | "primes" | "imported">): string {
  const kind = primes === 2 ? `RSA-${bits}` : `RSA-${bits} with ${primes} primes`;
  return `${kind}, ${imported ? "imported" : "made by Posthorn"}`;
}

export function keyFileName({ selector }: Pick<DkimKey, "selector">, domain: string): string {
  return `${selector}._domainkey.${domain}.pem`;
}
