/** A certificate that vouches for nobody but itself: enough for STARTTLS between servers, which encrypt without asking who is there. */
import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { der, oid, sequence } from "../mail/der.ts";

/** PEM texts of a fresh P-256 key and its certificate for `hostname`, valid for ten years. Node has no maker of certificates: RFC 5280 by hand. */
export function makeSelfSigned(hostname: string, nowMs: number): { cert: string; key: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = sequence(oid("1.2.840.10045.4.3.2"));
  // RFC 5280 §4.1.2.6: a common name has at most 64 characters; the name that counts is the alternative one.
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

/** RFC 5280 §4.1.2.5: two digits for the year before 2050, four from then on. */
function time(ms: number): Buffer {
  const digits = `${new Date(ms).toISOString().replace(/\D/g, "").slice(0, 14)}Z`;
  return digits < "2050" ? der(0x17, Buffer.from(digits.slice(2))) : der(0x18, Buffer.from(digits));
}
