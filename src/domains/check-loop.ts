/** The background of domains: whatever is due is checked, on every node that runs it, each domain by one of them. */
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../ops/log.ts";
import type { Sql } from "../store/db.ts";
import { forgetDeletedDomains } from "../store/dkim-keys.ts";
import type { Checker } from "./checker.ts";

/** How long a due domain waits at most for its turn to be noticed. */
const everyMs = 2_000;
/** Dead DNS takes 5 s a check: with this many at once a node still looks at 60,000 such domains in 6 hours. */
const atOnce = 16;
const forgetEveryMs = 3_600_000;

export function createCheckLoop(deps: { sql: Sql; log: Log; checker: Checker }) {
  const stopping = new AbortController();
  let ended: Promise<void> = Promise.resolve();

  async function round(): Promise<void> {
    try {
      while ((await deps.checker.checkDue(atOnce)) === atOnce && !stopping.signal.aborted);
    } catch (error) {
      deps.log.warn({ reason: (error as Error).message }, "domain checks paused: the database does not answer");
    }
  }

  async function forget(): Promise<void> {
    await forgetDeletedDomains(deps.sql).catch((error: Error) =>
      deps.log.warn({ reason: error.message }, "domains deleted long ago are still there, will try again"),
    );
  }

  async function work(): Promise<void> {
    let forgetAt = 0;
    while (!stopping.signal.aborted) {
      await round();
      if (Date.now() >= forgetAt) {
        await forget();
        forgetAt = Date.now() + forgetEveryMs;
      }
      await delay(everyMs, undefined, { signal: stopping.signal }).catch(() => {});
    }
  }

  return {
    start() {
      ended = work();
    },
    async stop() {
      stopping.abort();
      // The look-ups in hand end with the checker, or by themselves within seconds.
      await ended;
    },
  };
}
