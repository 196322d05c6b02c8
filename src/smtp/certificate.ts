/** The certificate of our SMTP server: from files, read again when they change, or made for itself where there are none. */
import { X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { createSecureContext, type SecureContext } from "node:tls";
import { makeSelfSigned } from "./self-signed.ts";

export type CertificateOptions = {
  files: { certFile: string; keyFile: string } | undefined;
  hostname: string;
  nowMs(): number;
  /** New files that cannot be used: the old ones stay. */
  onProblem(error: unknown): void;
};

const lookEveryMs = 1000;

/** Throws when the files cannot be used at the start: an operator who named them wants them. */
export function createCertificate({ files, hostname, nowMs, onProblem }: CertificateOptions): () => SecureContext {
  if (!files) {
    const context = contextOf(makeSelfSigned(hostname, nowMs()));
    return () => context;
  }
  const stamp = () => [files.certFile, files.keyFile].map((file) => statSync(file).mtimeMs).join(" ");
  const read = () => contextOf({ cert: readFileSync(files.certFile), key: readFileSync(files.keyFile) });
  let known = stamp();
  let context = read();
  let lookedAt = nowMs();
  return () => {
    if (nowMs() - lookedAt < lookEveryMs) return context;
    lookedAt = nowMs();
    try {
      const current = stamp();
      if (current !== known) {
        context = read();
        known = current;
      }
    } catch (error) {
      onProblem(error);
    }
    return context;
  };
}

type Pair = { cert: string | Buffer; key: string | Buffer };

/** When the certificate that is presented (the first one of the file) expires, in Unix time; 0 where the pair cannot be used. */
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
