/** The abuse brake: counts outcomes every few seconds, suspends workspaces of people who came through open sign-up when too much of their mail
 * bounces or is reported as spam, and warns all others. Runs on every housekeeping node. Started by app/assemble.ts. */
import type { Clock } from "../ops/clock.ts";
import type { Log } from "../ops/log.ts";
import type { Sql } from "../postgres/pool.ts";
import { suspensionNotice, warningNotice } from "./notice-text.ts";
import { createPeriodic } from "./periodic.ts";
import { type BrakeMode, isSuspended } from "./rules/brake.ts";
import { findOffenders, foldOutcomes, markHandled, type Offender, warn } from "./store/brakes.ts";
import { suspend } from "./store/standing.ts";

const everyMs = 2000;
/** The size of one fold, small enough to keep its locks short. */
const atOnce = { workspaces: 100, events: 5000, restMs: everyMs };

export type BrakeDeps = {
  sql: Sql;
  log: Log;
  clock: Clock;
  mode: BrakeMode;
  /** The key of mail that Posthorn itself sends, which does not count. */
  systemKeyId: string;
  onEvent(): void;
};

export function createBrakeLoop(deps: BrakeDeps) {
  const { sql, log, clock, mode, systemKeyId } = deps;
  return createPeriodic({
    log,
    everyMs,
    name: "counting bounces and complaints",
    async round() {
      const isBehind = await foldOutcomes(sql, { ...atOnce, systemKeyId });
      for (const offender of await findOffenders(sql, mode)) await brake(offender);
      return isBehind;
    },
  });

  async function brake(offender: Offender): Promise<void> {
    const { workspaceId, warning } = offender;
    if (!isSuspended(mode, offender)) {
      if (await warn(sql, warningNotice(offender, warning, clock.nowMs()))) deps.onEvent();
      return;
    }
    const reason = warning.message;
    const notice = suspensionNotice(offender, reason, warning, clock.nowMs());
    if (!offender.isSuspended && (await suspend(sql, { notice, reason, automatic: true }))) {
      log.warn({ workspaceId, reason }, "the abuse brake suspended a workspace");
      deps.onEvent();
    }
    await markHandled(sql, workspaceId);
  }
}
