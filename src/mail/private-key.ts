/**
 * Reads a private key that a person brings for DKIM: one RSA key as PEM, PKCS #8 or PKCS #1 (RFC 8017). Says what is wrong with it and
 * how to mend it, and never repeats the text. Called by domains/own-keys.ts.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { promisify } from "node:util";

export type SigningKey = {
  /** Base64 SPKI, as published in DNS. */
  publicKey: string;
  /** PKCS #8. */
  privateKeyPem: string;
  bits: number;
  primes: number;
};

export type KeyReading = { ok: true; key: SigningKey } | { ok: false; problem: string };

/** RFC 8301 §3.2: signers use at least 1,024 bits, and should use 2,048. Larger keys than 4,096 do not fit what verifiers must accept. */
export const keyBits = { least: 1024, advised: 2048, most: 4096 } as const;

/** The PEM of an RSA-4096 key takes 3.3 kB. */
const maxPemLength = 16 * 1024;

/** Call `pemProblem` first. A check takes up to 30 ms of CPU time, most of it in libuv's threads. */
export async function readSigningKey(pem: string): Promise<KeyReading> {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    return { ok: false, problem: "is not a private key that OpenSSL can read; check that the text is complete" };
  }
  const problem = kindProblem(key) ?? numberProblem(key) ?? (await trialProblem(key));
  if (problem) return { ok: false, problem };
  return {
    ok: true,
    key: {
      publicKey: createPublicKey(key).export({ type: "spki", format: "der" }).toString("base64"),
      privateKeyPem: key.export({ type: "pkcs8", format: "pem" }).toString(),
      bits: bitsOf(key),
      primes: primesIn(key),
    },
  };
}

/** How many primes an RSA key has (RFC 8017 §A.1.2). */
export function primesIn(key: KeyObject): number {
  return 2 + readNumbers(key).others;
}

/** What is wrong with the text before it is parsed. Undefined: it may be a key. */
export function pemProblem(pem: string): string | undefined {
  if (pem.trim() === "") return "is required: a private key as PEM, which starts with -----BEGIN PRIVATE KEY-----";
  if (pem.length > maxPemLength) return `has ${pem.length} characters; a private key has at most ${maxPemLength}`;
  const labels = [...pem.matchAll(/-----BEGIN ([A-Z0-9 ]{1,40})-----/g)].map((match) => match[1]!);
  if (labels.length === 0) return "is not PEM; it must start with -----BEGIN PRIVATE KEY-----";
  if (labels.length > 1) return `contains ${labels.length} PEM blocks; give the one with the private key`;
  const [label] = labels;
  // Texts that went through a YAML file or an environment variable.
  if (/^[ \t]+-----BEGIN/m.test(pem)) return "has spaces before its lines; remove them";
  if (!/-----BEGIN [A-Z0-9 ]{1,40}-----[ \t]*\r?\n/.test(pem))
    return "has its line breaks replaced, by spaces or by the characters \\n; put them back";
  if (label === "ENCRYPTED PRIVATE KEY" || /^Proc-Type:.*ENCRYPTED/m.test(pem))
    return "is encrypted with a passphrase; decrypt it first: openssl pkey -in key.pem -out plain.pem";
  if (label === "PUBLIC KEY" || label === "RSA PUBLIC KEY") return "is a public key; give the private key";
  if (label === "CERTIFICATE") return "is a certificate; give the private key";
  if (label === "OPENSSH PRIVATE KEY")
    return "is in the format of OpenSSH; convert a copy of it first: ssh-keygen -p -m PKCS8 -f copy";
  if (label === "EC PRIVATE KEY") return ecProblem;
  if (label !== "PRIVATE KEY" && label !== "RSA PRIVATE KEY")
    return "has an unknown kind of PEM block; it must be PRIVATE KEY or RSA PRIVATE KEY";
  return undefined;
}

const ecProblem = "is an elliptic-curve key, which DKIM does not have; give an RSA key";

function kindProblem(key: KeyObject): string | undefined {
  switch (key.asymmetricKeyType) {
    case "rsa":
      break;
    case "ed25519":
      return "is an Ed25519 key; many receivers do not verify its signatures (RFC 8463), so give an RSA key";
    case "ec":
      return ecProblem;
    case "rsa-pss":
      return "is restricted to RSA-PSS, but DKIM signs with PKCS #1 v1.5 (RFC 6376 §3.3); give an ordinary RSA key";
    default:
      return "is not an RSA key";
  }
  const bits = bitsOf(key);
  if (bits < keyBits.least || bits > keyBits.most)
    return `has ${bits} bits; it must have between ${keyBits.least} and ${keyBits.most} (RFC 8301 §3.2)`;
  const exponent = key.asymmetricKeyDetails?.publicExponent ?? 0n;
  // Lax verifiers accept forged signatures of keys with a small exponent, and a huge one makes every verification slow.
  if (exponent < 65537n || exponent >= 2n ** 32n || exponent % 2n === 0n)
    return `has the public exponent ${exponent.toString().slice(0, 20)}; it must be 65537, or another odd number up to 32 bits`;
  return undefined;
}

/** The numbers must belong together, and none may be longer than the modulus: such a key would keep a signing thread busy for long. OpenSSL
 * signs correctly with a wrong number for the Chinese remainder theorem, too: it notices the wrong result and starts again without it. */
function numberProblem(key: KeyObject): string | undefined {
  const wrong = "is damaged: its numbers do not belong together";
  const read = numbersOf(key);
  if (!read) return wrong;
  const { numbers, others } = read;
  const [modulus, exponent, secret, p, q, ofP, ofQ, coefficient, ...rest] = numbers;
  if (!modulus || !exponent || !secret || !p || !q || !ofP || !ofQ || !coefficient) return wrong;
  if (rest.length !== 3 * others || numbers.some((one) => one > modulus)) return wrong;
  // RFC 8017 §3.2: each prime has an exponent, and an inverse of the product of those before it. For the first two it is that of q.
  const primes = [
    { prime: p, ofPrime: ofP, inverse: coefficient, of: q },
    { prime: q, ofPrime: ofQ, inverse: undefined, of: 1n },
  ];
  let product = p * q;
  for (let at = 0; at < rest.length; at += 3) {
    const [prime, ofPrime, inverse] = rest.slice(at, at + 3) as [bigint, bigint, bigint];
    primes.push({ prime, ofPrime, inverse, of: product });
    product *= prime;
  }
  const fits = ({ prime, ofPrime, inverse, of }: (typeof primes)[number]) =>
    prime > 2n &&
    (exponent * secret) % (prime - 1n) === 1n &&
    secret % (prime - 1n) === ofPrime &&
    (inverse === undefined || (inverse < prime && (inverse * of) % prime === 1n));
  return product === modulus && primes.every(fits) ? undefined : wrong;
}

/** OpenSSL does not write a key with numbers that are much too long. */
function numbersOf(key: KeyObject): ReturnType<typeof readNumbers> | undefined {
  try {
    return readNumbers(key);
  } catch {
    return undefined;
  }
}

const trial = Buffer.from("a test signature before the key is used");
const signAsync = promisify(sign) as (algorithm: string, data: Uint8Array, key: KeyObject) => Promise<Buffer>;

async function trialProblem(key: KeyObject): Promise<string | undefined> {
  const signature = await signAsync("sha256", trial, key).catch(() => undefined);
  if (signature === undefined) return "cannot sign with OpenSSL on this server";
  return verify("sha256", trial, createPublicKey(key), signature)
    ? undefined
    : "is damaged: its public key does not verify its signatures";
}

function bitsOf(key: KeyObject): number {
  return key.asymmetricKeyDetails?.modulusLength ?? 0;
}

/** The numbers of RSAPrivateKey (RFC 8017 §A.1.2) from the modulus on, and the count of primes after the second. */
function readNumbers(key: KeyObject): { numbers: bigint[]; others: number } {
  const der = key.export({ type: "pkcs1", format: "der" });
  const [outer] = elementsOf(der);
  const [, ...rest] = elementsOf(outer!.content);
  const integers = rest.filter(({ type }) => type === 0x02);
  const list = rest.find(({ type }) => type === 0x30);
  const others = list ? elementsOf(list.content) : [];
  const all = [...integers, ...others.flatMap(({ content }) => elementsOf(content))];
  return { numbers: all.map(({ content }) => BigInt(`0x${content.toString("hex") || "0"}`)), others: others.length };
}

/** The elements of DER that OpenSSL wrote, so their lengths are right. */
function elementsOf(der: Buffer): { type: number; content: Buffer }[] {
  const elements: { type: number; content: Buffer }[] = [];
  for (let at = 0; at < der.length; ) {
    const type = der[at]!;
    const first = der[at + 1]!;
    const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
    const start = at + 2 + lengthBytes;
    const length = lengthBytes === 0 ? first : der.readUIntBE(at + 2, lengthBytes);
    elements.push({ type, content: der.subarray(start, start + length) });
    at = start + length;
  }
  return elements;
}
