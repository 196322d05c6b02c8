/**
 * RSA-2048 keys of three primes (RFC 8017 §3.2). Whoever checks a signature sees an ordinary key; making one takes two thirds of the time, and
 * signing is the largest cost of an email. OpenSSL signs with such keys, but Node cannot ask it to make one, so the numbers are put together here.
 * docs/decisions/0016 says why three primes are as safe as two.
 */
import { createPrivateKey, createPublicKey, generatePrime, type KeyObject, sign, verify } from "node:crypto";
import { integer, sequence } from "./der.ts";

const modulusBits = 2048;
const publicExponent = 65537n;
/** OpenSSL allows three for this size, and four only from 4,096 bits on. */
const primeBits = [683, 683, 682] as const;

export async function makeRsaKey(): Promise<KeyObject> {
  for (;;) {
    // On libuv's threads, as signing is.
    const [p, q, r] = await Promise.all(primeBits.map(makePrime));
    const key = keyOf(p!, q!, r!);
    if (key) return key;
  }
}

/** Undefined: these primes make no key, about every fortieth time, because the product is a bit short. */
export function keyOf(p: bigint, q: bigint, r: bigint): KeyObject | undefined {
  const primes = [p, q, r];
  const modulus = p * q * r;
  const suits = modulus.toString(2).length === modulusBits && new Set(primes).size === 3;
  if (!suits || primes.some((one) => (one - 1n) % publicExponent === 0n)) return undefined;
  const exponent = inverse(publicExponent, lcm(lcm(p - 1n, q - 1n), r - 1n));
  const third = sequence(integer(r), integer(exponent % (r - 1n)), integer(inverse(p * q, r)));
  // RFC 8017 §A.1.2: version 1 is that of more than two primes.
  const written = sequence(
    ...[1n, modulus, publicExponent, exponent, p, q, exponent % (p - 1n), exponent % (q - 1n), inverse(q, p)].map(
      integer,
    ),
    sequence(third),
  );
  const key = createPrivateKey({ key: written, format: "der", type: "pkcs1" });
  const sample = Buffer.from("signed once before the key is given away");
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

/** The number that times `value` is 1 modulo `modulus`, by Euclid. */
function inverse(value: bigint, modulus: bigint): bigint {
  let [rest, next] = [modulus, value % modulus];
  let [factor, nextFactor] = [0n, 1n];
  while (next > 0n) {
    const times = rest / next;
    [rest, next] = [next, rest - times * next];
    [factor, nextFactor] = [nextFactor, factor - times * nextFactor];
  }
  return ((factor % modulus) + modulus) % modulus;
}
