/**
 * Generates the RSA-2048 keys that sign mail, with two primes or with three (RFC 8017 §3.2), and encodes ASN.1 DER for them and for
 * the SMTP server's certificate. domains/key-pair.ts and smtp/server/certificate.ts call it.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  generatePrime,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";

export type PrimeCount = 2 | 3;

const modulusBits = 2048;
const publicExponent = 65537n;
/** OpenSSL allows three primes at this size, and four only from 4,096 bits on. */
const primeBits = [683, 683, 682] as const;

/**
 * Three primes sign faster where OpenSSL has no special code for primes of 1,024 bits. On x86-64 it has, and two are as fast
 * (docs/decisions/0016). FIPS 186 and most other programs know two primes only.
 */
export function defaultPrimes({ arch, fips }: { arch: string; fips: boolean }): PrimeCount {
  return arch === "arm64" && !fips ? 3 : 2;
}

/** Signing is the largest cost of an email (npm run bench -- sign). Verifiers see an ordinary RSA-2048 key in both cases. */
export async function makeRsaKey(primes: PrimeCount): Promise<KeyObject> {
  return primes === 2 ? await makeTwoPrimeKey() : await makeThreePrimeKey();
}

/** On libuv's threads, like signing. */
function makeTwoPrimeKey(): Promise<KeyObject> {
  return new Promise((resolve, reject) =>
    generateKeyPair("rsa", { modulusLength: modulusBits, publicExponent: Number(publicExponent) }, (error, _, key) =>
      error ? reject(error) : resolve(key),
    ),
  );
}

/** OpenSSL signs with such keys, but Node cannot generate them, so this function computes the numbers. */
async function makeThreePrimeKey(): Promise<KeyObject> {
  for (;;) {
    // generatePrime runs on libuv's threads, like signing.
    const [p, q, r] = await Promise.all(primeBits.map(makePrime));
    const key = keyFromPrimes(p!, q!, r!);
    if (key) return key;
  }
}

/** Returns undefined for unsuitable primes. About one set in forty is, because its product is one bit too short. */
export function keyFromPrimes(p: bigint, q: bigint, r: bigint): KeyObject | undefined {
  const primes = [p, q, r];
  const modulus = p * q * r;
  const isSuitable = modulus.toString(2).length === modulusBits && new Set(primes).size === 3;
  if (!isSuitable || primes.some((one) => (one - 1n) % publicExponent === 0n)) return undefined;
  const exponent = inverse(publicExponent, lcm(lcm(p - 1n, q - 1n), r - 1n));
  const third = sequence(integer(r), integer(exponent % (r - 1n)), integer(inverse(p * q, r)));
  // RFC 8017 §A.1.2: version 1 is for more than two primes.
  const pkcs1 = sequence(
    ...[1n, modulus, publicExponent, exponent, p, q, exponent % (p - 1n), exponent % (q - 1n), inverse(q, p)].map(
      integer,
    ),
    sequence(third),
  );
  const key = createPrivateKey({ key: pkcs1, format: "der", type: "pkcs1" });
  const sample = Buffer.from("a test signature before the key is used");
  if (!verify("sha256", sample, createPublicKey(key), sign("sha256", sample, key)))
    throw new Error("a new RSA key does not verify its own signature");
  return key;
}

function makePrime(bits: number): Promise<bigint> {
  return new Promise((resolve, reject) =>
    generatePrime(bits, { bigint: true }, (error, prime) => (error ? reject(error) : resolve(prime))),
  );
}

function lcm(a: bigint, b: bigint): bigint {
  let [x, y] = [a, b];
  while (y > 0n) [x, y] = [y, x % y];
  return (a / x) * b;
}

/** The modular inverse of `value`, by the extended Euclidean algorithm. */
function inverse(value: bigint, modulus: bigint): bigint {
  let [rest, next] = [modulus, value % modulus];
  let [factor, nextFactor] = [0n, 1n];
  while (next > 0n) {
    const quotient = rest / next;
    [rest, next] = [next, rest - quotient * next];
    [factor, nextFactor] = [nextFactor, factor - quotient * nextFactor];
  }
  return ((factor % modulus) + modulus) % modulus;
}

/** Encodes one element of ASN.1 DER (X.690): its type, its length and its content of at most 65,535 bytes. */
export function der(type: number, content: Buffer): Buffer {
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([type, length]), content]);
  const size = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([type, ...size]), content]);
}

/** A DER SEQUENCE of encoded elements. */
export function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

/** A DER INTEGER of a value that is not negative. A set first bit would mean a negative number, so it gets a leading zero byte. */
export function integer(value: bigint): Buffer {
  const digits = value.toString(16);
  const bytes = Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, "hex");
  return der(0x02, bytes[0]! & 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}

/** A DER OBJECT IDENTIFIER in dotted notation, such as 1.2.840.113549.1.1.1. */
export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const number of rest) {
    const groups = [number & 0x7f];
    for (let left = number >> 7; left > 0; left >>= 7) groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return der(0x06, Buffer.from(bytes));
}
