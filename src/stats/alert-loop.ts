/** Compares the rates of the last 24 hours with the thresholds of each workspace, and raises an alert when a rate passes: an event in the log
 * and mail to the owners, once until the rate has recovered. Runs on every housekeeping node; quotas/watch.ts sends the mail. Started by
 * app/assemble.ts. */
import type { Clock } from "../ops/clock.ts";
import type { Log } from "../ops/log.ts";
import { makeUuid } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import { createPeriodic } from "../quotas/periodic.ts";
import type { Notice } from "../quotas/store/notices.ts";
import { type Alert, figures, judge } from "./rules/alerts.ts";
import { endAlert, findToJudge, type Judged, markJudged, raiseAlert } from "./store/alerts.ts";

const everyMs = 5_000;
/** A workspace that sends all the time is judged this often. */
const defaultRestMs = 30_000;
const atOnce = 100;

export type AlertDeps = { sql: Sql; log: Log; clock: Clock; onEvent(): void };

export function createAlertLoop(deps: AlertDeps) {
  return createPeriodic({
    log: deps.log,
    everyMs,
    name: "comparing rates with limits",
    round: () => raiseAlerts(deps),
  });
}

/** True: there may be more. */
export async function raiseAlerts(
  { sql, clock, onEvent }: Omit<AlertDeps, "log">,
  restMs = defaultRestMs,
): Promise<boolean> {
  const nowMs = clock.nowMs();
  const due = await findToJudge(sql, { nowMs, restMs, limit: atOnce });
  if (due.length === 0) return false;
  for (const workspace of due)
    for (const figure of figures) {
      const verdict = judge(figure, workspace, workspace.settings[figure]);
      const isRaised = workspace.raised.includes(figure);
      if (verdict === "recover" && isRaised) await endAlert(sql, workspace.workspaceId, figure);
      if (typeof verdict === "object" && !isRaised)
        if (await raiseAlert(sql, verdict.raise, alertNotice(workspace, verdict.raise, nowMs))) onEvent();
    }
  await markJudged(sql, due);
  return due.length === atOnce;
}

const advice = {
  bounces:
    "Receivers distrust senders whose mail often bounces. Check where these addresses come from, and remove addresses that bounce.",
  complaints:
    "Gmail and Yahoo filter or reject mail of senders with many complaints. Send only to people who expect the mail, and make it easy to unsubscribe.",
};

export function alertNotice({ workspaceId, ...workspace }: Judged, alert: Alert, nowMs: number): Notice {
  // Names of workspaces may contain anything that a person types.
  const name = workspace.name.replace(/\s+/g, " ");
  const figure = { bounces: "bounce", complaints: "complaint" }[alert.figure];
  return {
    eventId: makeUuid(nowMs),
    workspaceId,
    type: "workspace.alert",
    payload: { ...alert },
    mail: {
      subject: `${name}: the ${figure} rate is above its threshold`,
      body: [
        `Workspace: ${name}`,
        alert.message,
        "",
        advice[alert.figure],
        "The overview of the dashboard shows the rate by domain, receiving site and key, and the emails behind it.",
        "You get the next alert only after the rate has recovered. Change the threshold on the overview under Alerts.",
        "",
      ].join("\n"),
    },
  };
}
