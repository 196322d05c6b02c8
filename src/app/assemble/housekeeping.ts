/** The loops of the role "housekeeping": upkeep that one node does for all of them. */

import { createTermLoop } from "../../emails/term-loop.ts";
import { createKeyReminders } from "../../keys/reminders.ts";
import { systemKeyId } from "../../keys/store.ts";
import { describeAddress } from "../../objects/address.ts";
import type { ContentStore } from "../../objects/content-store.ts";
import { createUnusedLoop } from "../../objects/unused.ts";
import { createDeletions } from "../../operators/deletion.ts";
import type { Clock } from "../../ops/clock.ts";
import type { Log } from "../../ops/log.ts";
import { createBrakeLoop } from "../../quotas/brake-loop.ts";
import { createAlertLoop } from "../../stats/alert-loop.ts";
import { createCountLoop } from "../../stats/count-loop.ts";
import type { Config } from "../config.ts";
import { createHousekeeping } from "../housekeeping.ts";
import type { Store } from "../open-store.ts";

type Deps = { config: Config; store: Pick<Store, "sql" | "contents">; log: Log; clock: Clock; onEvent: () => void };

/** The parts in the order of their start, each already running. */
export function startHousekeeping({ config, store, log, clock, onEvent }: Deps) {
  const { sql, contents } = store;
  const loops = {
    housekeeping: createHousekeeping({ sql, log, retention: config }),
    deletions: createDeletions({ sql, log }),
    counter: createCountLoop({ sql, log, clock }),
    alerts: createAlertLoop({ sql, log, clock, onEvent }),
    "search terms": createTermLoop({ sql, log }),
    "abuse brake": createBrakeLoop({ sql, log, clock, mode: config.abuseBrake, systemKeyId, onEvent }),
    "reminders of keys": createKeyReminders({ sql, log, clock, onEvent }),
  };
  const all = contents ? { ...loops, "unused objects": unusedLoop(contents) } : loops;
  return Object.entries(all).map(([name, loop]) => {
    loop.start();
    return { name, stop: loop.stop };
  });

  function unusedLoop(of: ContentStore) {
    return createUnusedLoop({
      sql,
      log,
      contents: of,
      store: describeAddress(config.content!.address),
      nowMs: clock.nowMs,
    });
  }
}
