/** Stores when sessions were last used, for the list of a person's sessions: at most once a minute for each, and many in one statement.
 * Called by people.ts. */
import type { Log } from "../ops/log.ts";
import type { Sql } from "../postgres/pool.ts";
import { touchSessions } from "./store/sessions.ts";

const staleMs = 60_000;
const writeEveryMs = 5_000;

export function createSessionUses(deps: { sql: Sql; log: Log }) {
  const used = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  async function write(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const ids = [...used];
    used.clear();
    if (ids.length === 0) return;
    // A lost use is stored with the next one.
    await touchSessions(deps.sql, ids).catch((error) => deps.log.debug({ err: error }, "uses of sessions not stored"));
  }

  return {
    note({ id, usedAgoMs }: { id: string; usedAgoMs: number }): void {
      // A negative time comes from a clock that was set back.
      if (usedAgoMs >= 0 && usedAgoMs < staleMs) return;
      used.add(id);
      timer ??= setTimeout(() => {
        writing = write();
      }, writeEveryMs).unref();
    },
    async stop(): Promise<void> {
      await writing;
      await write();
    },
  };
}
