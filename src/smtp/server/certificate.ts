/**
 * The TLS certificate of the SMTP server: read from files and reloaded when they change, or self-signed when none are set.
 * Used by app/assemble/inbound.ts; app/measure.ts reads the expiry.
 */
import { generateKeyPairSync, randomBytes, sign, X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { createSecureContext, type SecureContext } from "node:tls";
import { der, oid, sequence } from "../../mail/rsa-key.ts";

export type CertificateOptions = {
  files: { certFile: string; keyFile: string } | undefined;
  hostname: string;
  /** Wall time, for the validity of a self-signed certificate. */
  nowMs(): number;
  /** When the files were read last. A test injects a clock. */
  monotonicMs?(): number;
  /** Called when changed files cannot be used; the previous certificate stays in use. */
  onProblem(error: unknown): void;
};

const checkEveryMs = 1000;

/** Throws when the files cannot be used at start. Without files the server presents a self-signed certificate. */
export function createCertificate(options: CertificateOptions): () => SecureContext {
  const { files, hostname, nowMs, monotonicMs = () => performance.now(), onProblem } = options;
  if (!files) {
    const context = contextOf(makeSelfSigned(hostname, nowMs()));
    return () => context;
  }
  const stamp = () => [files.certFile, files.keyFile].map((file) => statSync(file).mtimeMs).join(" ");
  const read = () => contextOf({ cert: readFileSync(files.certFile), key: readFileSync(files.keyFile) });
  let loadedStamp = stamp();
  let context = read();
  let checkedAtMs = monotonicMs();
  return () => {
    if (monotonicMs() - checkedAtMs < checkEveryMs) return context;
    checkedAtMs = monotonicMs();
    try {
      const current = stamp();
      if (current !== loadedStamp) {
        context = read();
        loadedStamp = current;
      }
    } catch (error) {
      onProblem(error);
    }
    return context;
  };
}

type Pair = { cert: string | Buffer; key: string | Buffer };

/** When the first certificate of the file, which the server presents, expires, in Unix time; 0 when the pair cannot be used. */
export function expirySeconds(pair: Pair): number {
  try {
    contextOf(pair);
    return Math.floor(Date.parse(new X509Certificate(pair.cert).validTo) / 1000);
  } catch {
    return 0;
  }
}

function contextOf(pair: Pair): SecureContext {
  return createSecureContext({ ...pair, minVersion: "TLSv1.2" });
}

/**
 * Creates a P-256 key and a self-signed certificate for `hostname`, valid for ten years, both as PEM. That is enough for STARTTLS
 * between servers, which mostly encrypt without verifying. Node cannot create certificates, so this writes the DER of RFC 5280.
 */
export function makeSelfSigned(hostname: string, nowMs: number): { cert: string; key: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = sequence(oid("1.2.840.10045.4.3.2"));
  // RFC 5280 §4.1.2.6: a common name has at most 64 characters. Clients check the subject alternative name instead.
  const name = sequence(der(0x31, sequence(oid("2.5.4.3"), der(0x0c, Buffer.from(hostname.slice(0, 64))))));
  const serial = randomBytes(16);
  serial[0] = (serial[0]! & 0x7f) | 0x40;
  const alternative = sequence(der(0x82, Buffer.from(hostname)));
  const extension = sequence(oid("2.5.29.17"), der(0x04, alternative));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    algorithm,
    name,
    sequence(time(nowMs - 86_400_000), time(nowMs + 3650 * 86_400_000)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(extension)),
  );
  const signature = sign("sha256", body, privateKey);
  const certificate = sequence(body, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = certificate.toString("base64").match(/.{1,64}/g)!;
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
  };
}

/** RFC 5280 §4.1.2.5: a two-digit year before 2050, a four-digit year from then on. */
function time(ms: number): Buffer {
  const digits = `${new Date(ms).toISOString().replace(/\D/g, "").slice(0, 14)}Z`;
  return digits < "2050" ? der(0x17, Buffer.from(digits.slice(2))) : der(0x18, Buffer.from(digits));
}
