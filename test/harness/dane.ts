/** TLSA records and receivers for tests of DANE. */
import { createHash, X509Certificate } from "node:crypto";

/** A TLSA record in the form of a zone file, for the first certificate of a PEM file. */
export function tlsaOf(pem: string, parameters: `${number} ${number} ${number}`): string {
  const certificate = new X509Certificate(pem);
  const [, selector, matching] = parameters.split(" ").map(Number);
  const selected = selector === 0 ? certificate.raw : certificate.publicKey.export({ type: "spki", format: "der" });
  const data =
    matching === 0
      ? selected
      : createHash(matching === 1 ? "sha256" : "sha512")
          .update(selected)
          .digest();
  return `${parameters} ${data.toString("hex")}`;
}
