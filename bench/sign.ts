/** Signatures per second on one core with the kinds of DKIM keys, in turn, so that a busy moment hits each of them. npm run bench -- sign */
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { makeRsaKey } from "../src/mail/rsa-key.ts";
import type { Bench } from "./lib/report.ts";

const rounds = 8;
const roundMs = 250;

export const benchSign: Bench = async (progress) => {
  const rsa = (modulusLength: number) => generateKeyPairSync("rsa", { modulusLength }).privateKey;
  const keys = {
    two: await makeRsaKey(2),
    three: await makeRsaKey(3),
    small: rsa(1024),
    large: rsa(4096),
  };
  // The octets that DKIM signs of a small message.
  const input = Buffer.alloc(1500, "x");
  const best: Record<string, number> = {};
  for (let round = 1; round <= rounds; round++) {
    progress(`round ${round} of ${rounds} …`);
    for (const [name, key] of Object.entries(keys)) best[name] = Math.max(best[name] ?? 0, rate(input, key));
  }
  const { two, three, small, large } = best as Record<keyof typeof keys, number>;
  const baseline = { what: "RSA-2048 with two primes", value: two };
  return [
    { what: "signatures on one core: RSA-2048 with two primes", value: two, unit: "/s" },
    { what: "signatures on one core: RSA-2048 with three primes", value: three, unit: "/s", baseline },
    { what: "signatures on one core: RSA-1024", value: small, unit: "/s", baseline },
    { what: "signatures on one core: RSA-4096", value: large, unit: "/s", baseline },
  ];
};

function rate(input: Buffer, key: KeyObject): number {
  const start = performance.now();
  let count = 0;
  while (performance.now() - start < roundMs) {
    sign("sha256", input, key);
    count += 1;
  }
  return (count * 1000) / (performance.now() - start);
}
