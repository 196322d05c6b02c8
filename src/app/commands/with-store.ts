/** Runs a short command against the store, whether the program is running on it at this moment or not. */
import { silentLog } from "../../ops/log.ts";
import { createClock } from "../../store/clock.ts";
import type { Config } from "../config.ts";
import { openStore, type Store, type StoreOptions } from "../open-store.ts";

export async function withStore<T>(
  config: Config,
  work: (store: Store & { nowMs(): number }) => Promise<T>,
  options: Pick<StoreOptions, "onMigration"> = {},
): Promise<T> {
  const store = await openStore({ config, log: silentLog(), for: "command", ...options });
  try {
    const clock = createClock();
    return await work({ ...store, nowMs: clock.nowMs });
  } finally {
    await store.close();
  }
}
