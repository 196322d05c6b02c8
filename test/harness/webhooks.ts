/** Rows for tests of webhooks: a webhook with a sealed secret, and events in the log. */

import { appendEvent } from "../../src/events/store.ts";
import { makeUuid } from "../../src/postgres/ids.ts";
import type { Sql } from "../../src/postgres/pool.ts";
import { createSecrets } from "../../src/postgres/sealing.ts";
import { type Followed, followLog } from "../../src/webhooks/store/follow.ts";
import { insertWebhook, makeSigningSecret, secretContext, type Webhook } from "../../src/webhooks/store/webhooks.ts";
import { testSecret } from "./program.ts";

const secrets = createSecrets(testSecret);

export async function addWebhook(
  sql: Sql,
  workspaceId: string,
  extra: { url?: string; eventTypes?: string[] } = {},
): Promise<Webhook & { secret: string }> {
  const id = makeUuid(Date.now());
  const secret = makeSigningSecret();
  const { url = "https://hooks.test/", eventTypes = [] } = extra;
  const sealedSecret = secrets.seal(secret, secretContext(id));
  const webhook = await insertWebhook(sql, { workspaceId, id, url, eventTypes, description: "", sealedSecret });
  return { ...webhook!, secret };
}

/** Appends events, each for a new email, or all for `emailId`. */
export async function addEvents(
  sql: Sql,
  workspaceId: string,
  count: number,
  options: { type?: string; emailId?: string } = {},
): Promise<void> {
  for (let i = 0; i < count; i++) {
    const id = options.emailId ?? makeUuid(Date.now());
    await appendEvent(sql, {
      id: makeUuid(Date.now()),
      workspaceId,
      type: options.type ?? "email.delivered",
      payload: { recipients: ["a@there.test"] },
      email: { id, messageId: `<${id}@sender.test>`, metadata: { order: "7" } },
    });
  }
}

/** Turns events into deliveries without leases. */
export async function follow(sql: Sql, { events = 500, webhooks = 20 } = {}): Promise<Followed> {
  return await followLog(sql, { nowMs: Date.now(), lease: "0", rooms: { known: [], events, room: 0 }, webhooks });
}

/** Appends many events in one statement, each for a different email. */
export async function addManyEvents(sql: Sql, workspaceId: string, count: number, type: string): Promise<void> {
  await sql`
    with bump as (update event_counters set last = last + ${count} where workspace_id = ${workspaceId} returning last - ${count} as base)
    insert into events (workspace_id, number, id, type, email_id, message_id, payload, created_at)
    select ${workspaceId}, base + n, gen_random_uuid(), ${type}, gen_random_uuid(), '<x@sender.test>', '{"recipients": ["a@there.test"]}', clock_timestamp()
    from bump, generate_series(1, ${count}::int) n`;
}
