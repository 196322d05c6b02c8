/** The signing limit that figures are compared with, measured in the same run. */
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { quick } from "./scale.ts";

const windowMs = 1000;

/**
 * RSA-2048 signatures per second on all cores, through libuv's thread pool. The best window counts, because other load on the machine would lower
 * the limit and make the compared figure look better. Benches measure it right before each figure.
 */
export async function signingLimit({ key = ordinaryKey(), windows = quick ? 1 : 2 } = {}): Promise<number> {
  const data = Buffer.alloc(512, 1);
  const signOnce = () =>
    new Promise<void>((resolve, reject) => sign("sha256", data, key, (error) => (error ? reject(error) : resolve())));
  let best = 0;
  for (let window = 0; window < windows; window++) {
    const began = performance.now();
    let count = 0;
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        while (performance.now() < began + windowMs) {
          await signOnce();
          count++;
        }
      }),
    );
    best = Math.max(best, count / ((performance.now() - began) / 1000));
  }
  return best;
}

/** A key with two primes, as Node generates it and most signers use it. */
function ordinaryKey(): KeyObject {
  return generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
}
