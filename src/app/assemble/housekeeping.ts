/** The loops of the role "housekeeping": upkeep that one node does for all of them. */

import { createTermLoop } from "../../emails/term-loop.ts";
import { createKeyReminders } from "../../keys/reminders.ts";
import { systemKeyId } from "../../keys/store.ts";
import { createDeletions } from "../../operators/deletion.ts";
import type { Clock } from "../../ops/clock.ts";
import type { Log } from "../../ops/log.ts";
import type { Sql } from "../../postgres/pool.ts";
import { createBrakeLoop } from "../../quotas/brake-loop.ts";
import { createAlertLoop } from "../../stats/alert-loop.ts";
import { createCountLoop } from "../../stats/count-loop.ts";
import type { Config } from "../config.ts";
import { createHousekeeping } from "../housekeeping.ts";

type Deps = { config: Config; sql: Sql; log: Log; clock: Clock; onEvent: () => void };

/** The parts in the order of their start, each already running. */
export function startHousekeeping({ config, sql, log, clock, onEvent }: Deps) {
  const loops = {
    housekeeping: createHousekeeping({ sql, log, retention: config }),
    deletions: createDeletions({ sql, log }),
    counter: createCountLoop({ sql, log, clock }),
    alerts: createAlertLoop({ sql, log, clock, onEvent }),
    "search terms": createTermLoop({ sql, log }),
    "abuse brake": createBrakeLoop({ sql, log, clock, mode: config.abuseBrake, systemKeyId, onEvent }),
    "reminders of keys": createKeyReminders({ sql, log, clock, onEvent }),
  };
  return Object.entries(loops).map(([name, loop]) => {
    loop.start();
    return { name, stop: loop.stop };
  });
}
