/** Holds a lock in a session of its own, so that statements of the program wait for it. */
import { silentLog } from "../../src/ops/log.ts";
import { openDb } from "../../src/postgres/pool.ts";

export type Lock = { release(): Promise<void> };

/** Runs a text that takes locks in a transaction, and resolves once it has them. The transaction leaves no receipt. */
export async function holdLock(databaseUrl: string, text: string): Promise<Lock> {
  const sql = openDb({ url: databaseUrl, pool: 1, log: silentLog(), name: "lock" });
  const released = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const holding = sql.begin(
    async (tx) => {
      await tx.unsafe(text);
      locked.resolve();
      await released.promise;
    },
    { receipt: "never" },
  );
  await Promise.race([locked.promise, holding]);
  return {
    async release() {
      released.resolve();
      await holding;
      await sql.end();
    },
  };
}
