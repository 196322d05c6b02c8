/** Runs a short command against the store, whether the program is running on it at this moment or not. */
import { silentLog } from "../../ops/log.ts";
import { createClock } from "../../store/clock.ts";
import type { Progress } from "../../store/migrate.ts";
import type { Config } from "../config.ts";
import { openStore, type Store, type StoreOptions } from "../open-store.ts";
import { lineOf } from "./migration-line.ts";

export async function withStore<T>(
  config: Config,
  work: (store: Store & { nowMs(): number }) => Promise<T>,
  options: Pick<StoreOptions, "onMigration" | "keepSchema" | "stop"> = {},
): Promise<T> {
  const store = await openStore({ config, log: silentLog(), for: "command", onMigration: reportWait, ...options });
  try {
    const clock = createClock();
    return await work({ ...store, nowMs: clock.nowMs });
  } finally {
    await store.close();
  }
}

/** A command whose answer does not come says why. Steps that are over at once are not worth a line. */
function reportWait(progress: Progress): void {
  if (progress.kind !== "applied") process.stderr.write(`${lineOf(progress)}\n`);
}
