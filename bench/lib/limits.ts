/** The limits that figures are shown beside, measured in the same run: what both cores can sign. */
import { generateKeyPairSync, sign } from "node:crypto";

/** RSA-2048 signatures per second through libuv's thread pool, all cores at work. */
export async function signingLimit(forMs: number): Promise<number> {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const data = Buffer.alloc(512, 1);
  const end = performance.now() + forMs;
  const began = performance.now();
  let count = 0;
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      while (performance.now() < end) {
        await new Promise<void>((resolve, reject) =>
          sign("sha256", data, privateKey, (error) => (error ? reject(error) : resolve())),
        );
        count++;
      }
    }),
  );
  return count / ((performance.now() - began) / 1000);
}
