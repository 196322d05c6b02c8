/** Opens the store for a short command, whether the program runs on it or not, and prints why it waits. Used by most commands. */
import { type Clock, createClock } from "../../ops/clock.ts";
import { silentLog } from "../../ops/log.ts";
import type { MigrationProgress } from "../../postgres/migrate.ts";
import { readClocks } from "../../postgres/service-clock.ts";
import type { Config } from "../config.ts";
import { openStore, type Store, type StoreOptions } from "../open-store.ts";

export async function withStore<T>(
  config: Config,
  work: (store: Store & { nowMs(): number; clock: Clock }) => Promise<T>,
  options: Pick<StoreOptions, "onMigration" | "keepSchema" | "waitForServerMs" | "stop"> = {},
): Promise<T> {
  const store = await openStore({ config, log: silentLog(), for: "command", onMigration: reportWait, ...options });
  try {
    const clock = createClock();
    // A command that keeps an older schema finds no such clocks, and writes no ids.
    if (!options.keepSchema) clock.set(await readClocks(store.sql));
    return await work({ ...store, nowMs: clock.nowMs, clock });
  } finally {
    await store.close();
  }
}

/** Explains why a command waits. Applied migrations are not printed. */
function reportWait(progress: MigrationProgress): void {
  if (progress.kind !== "applied") process.stderr.write(`${lineOf(progress)}\n`);
}

/** One line for each step of a migration. Printed by posthorn migrate, and by other commands that wait for a migration. */
export function lineOf(progress: MigrationProgress): string {
  const { migration } = progress;
  switch (progress.kind) {
    case "applied":
      return `${migration}: applied in ${progress.tookMs} ms`;
    case "index":
      return `${migration}: building ${progress.index} on ${progress.table} (${progress.step} of ${progress.of})`;
    case "building":
      return `${migration}: ${progress.index}: ${progress.phase}${progress.percent === undefined ? "" : `, ${progress.percent} %`}`;
    case "queued":
      return `${migration}: waiting for another node that applies it`;
    case "waiting": {
      const { blocker, tables } = progress;
      const by = blocker
        ? `: session ${blocker.pid} (${blocker.application || "no name"}, ${blocker.state}) has been in a transaction for ${Math.round(blocker.openForMs / 1000)} s: ${blocker.query}`
        : "";
      return `${migration}: waiting for a lock on ${tables.join(", ")}${by}`;
    }
  }
}
