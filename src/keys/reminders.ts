/** Reminds the owners of a workspace 7 days and 1 day before a key expires: an event in the log and a mail, each once, on any number of
 * nodes. Runs on every housekeeping node; quotas/watch.ts sends the mail. Started by app/assemble.ts. */
import type { Clock } from "../ops/clock.ts";
import type { Log } from "../ops/log.ts";
import { makeUuid, toWireId } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import { createPeriodic } from "../quotas/periodic.ts";
import type { Notice } from "../quotas/store/notices.ts";
import { type ExpiringKey, findExpiring, noteExpiring } from "./store/reminders.ts";

const everyMs = 10_000;
const atOnce = 100;

export type ReminderDeps = { sql: Sql; log: Log; clock: Clock; onEvent(): void };

export function createKeyReminders(deps: ReminderDeps) {
  return createPeriodic({ log: deps.log, everyMs, name: "reminding of keys that expire", round: () => remind(deps) });
}

/** True: there may be more. */
export async function remind({ sql, clock, onEvent }: Omit<ReminderDeps, "log">): Promise<boolean> {
  const due = await findExpiring(sql, atOnce);
  let noted = 0;
  for (const key of due) if (await noteExpiring(sql, key, expiryNotice(key, clock.nowMs()))) noted++;
  if (noted > 0) onEvent();
  return noted === atOnce;
}

export function expiryNotice(key: ExpiringKey, nowMs: number): Notice {
  const { workspaceId, prefix, days } = key;
  const [workspace, name] = [key.workspace, key.name].map((text) => text.replace(/\s+/g, " "));
  const id = toWireId("key", key.id);
  const expiresAt = key.expiresAt.toISOString();
  const lastUsedAt = key.lastUsedAt?.toISOString();
  return {
    eventId: makeUuid(nowMs),
    workspaceId,
    type: "key.expiring",
    payload: { keyId: id, name: key.name, prefix, expiresAt, daysLeft: days, lastUsedAt },
    mail: {
      subject: `${workspace}: the API key ${name} expires in ${days === 1 ? "a day" : `${days} days`}`,
      body: [
        `Workspace: ${workspace}`,
        `Key: ${name} (${prefix}…, ${id})`,
        `Expires: ${expiresAt}`,
        `Last used: ${lastUsedAt ?? "never"}`,
        "",
        "Calls with this key are refused from then on. To replace it, rotate it on the dashboard's API keys page or with:",
        `posthorn keys rotate ${id}`,
        "Both keys work until the overlap ends. If the key is no longer needed, no action is required.",
        "",
      ].join("\n"),
    },
  };
}
