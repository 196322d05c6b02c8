/** Formats and parses DKIM key records, and compares their public keys. domains/ uses it to publish and check keys. */
import { createPublicKey } from "node:crypto";

export type DkimKeyRecord = {
  keyType: string;
  /** Base64 without white space. An empty key is revoked. */
  publicKey: string;
  testing: boolean;
};

export type DkimReading = { ok: true; record: DkimKeyRecord } | { ok: false; problem: string };

/** The TXT value that publishes an RSA key, given as base64 SPKI. */
export function dkimKeyText(publicKey: string): string {
  return `v=DKIM1; k=rsa; p=${publicKey}`;
}

/** RFC 6376 §3.6.1 */
export function parseDkimRecord(text: string): DkimReading {
  const tags = parseTags(text);
  if (tags === undefined) return { ok: false, problem: "it is not a list of tag=value pairs" };
  const names = [...tags.keys()];
  const version = tags.get("v");
  if (version !== undefined && (version !== "DKIM1" || names[0] !== "v")) {
    return { ok: false, problem: "its v= tag is not DKIM1, or is not the first tag" };
  }
  const key = tags.get("p");
  if (key === undefined) return { ok: false, problem: "it has no p= tag" };
  const publicKey = key.replace(/[ \t\r\n]+/g, "");
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(publicKey)) return { ok: false, problem: "its p= tag is not base64" };
  const services = splitColons(tags.get("s") ?? "*");
  if (!services.includes("*") && !services.includes("email")) {
    return { ok: false, problem: "its s= tag does not allow email" };
  }
  const hashes = tags.get("h");
  if (hashes !== undefined && !splitColons(hashes).includes("sha256")) {
    return { ok: false, problem: "its h= tag does not allow sha256" };
  }
  const flags = splitColons(tags.get("t") ?? "");
  return {
    ok: true,
    record: { keyType: (tags.get("k") ?? "rsa").toLowerCase(), publicKey, testing: flags.includes("y") },
  };
}

/** Compares two base64 public keys. Each may be encoded as SPKI or as a bare RSAPublicKey. */
export function samePublicKey(a: string, b: string): boolean {
  const left = Buffer.from(a, "base64");
  const right = Buffer.from(b, "base64");
  if (left.length === 0 || right.length === 0) return false;
  if (left.equals(right)) return true;
  const spkiLeft = toSpki(left);
  const spkiRight = toSpki(right);
  return spkiLeft !== undefined && spkiRight !== undefined && spkiLeft.equals(spkiRight);
}

/** Parses a tag list of RFC 6376 §3.2. Returns undefined if the syntax is invalid or a tag occurs twice. */
export function parseTags(text: string): Map<string, string> | undefined {
  const tags = new Map<string, string>();
  const parts = text.split(";");
  for (const [index, part] of parts.entries()) {
    if (part.trim() === "" && index === parts.length - 1) break;
    // trim() instead of a trimming pattern, which is slow on long runs of spaces.
    const match = /^\s*([A-Za-z][A-Za-z0-9_]*)\s*=([\s\S]*)$/.exec(part);
    if (!match || tags.has(match[1] ?? "")) return undefined;
    tags.set(match[1] ?? "", match[2]!.trim());
  }
  return tags.size === 0 ? undefined : tags;
}

function splitColons(value: string): string[] {
  return value.split(":").map((part) => part.trim().toLowerCase());
}

function toSpki(der: Buffer): Buffer | undefined {
  for (const type of ["spki", "pkcs1"] as const) {
    try {
      return createPublicKey({ key: der, format: "der", type }).export({ type: "spki", format: "der" });
    } catch {
      // Not this encoding. RFC 6376 erratum 1532: both are in use.
    }
  }
  return undefined;
}
