/** The limits that figures are shown beside, measured in the same run: what all cores can sign. */
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";

const windows = 4;
const windowMs = 1000;

/** RSA-2048 signatures per second through libuv's thread pool, all cores at work. The best of four seconds, and benches ask before and after:
 * whatever else the machine does meanwhile makes the limit lower, and what stands beside it look better. */
export async function signingLimit(privateKey: KeyObject = ordinaryKey()): Promise<number> {
  const data = Buffer.alloc(512, 1);
  const signOnce = () =>
    new Promise<void>((resolve, reject) =>
      sign("sha256", data, privateKey, (error) => (error ? reject(error) : resolve())),
    );
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

/** Two primes, as Node makes it and most signers have it. */
function ordinaryKey(): KeyObject {
  return generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
}
