/** Rows that tests of webhooks need: a webhook with a sealed secret, and events in the log. */
import type { Sql } from "../../src/store/db.ts";
import { appendEvent } from "../../src/store/events.ts";
import { makeUuid } from "../../src/store/ids.ts";
import { createSecrets } from "../../src/store/secrets.ts";
import { insertWebhook, makeSigningSecret, secretContext, type Webhook } from "../../src/store/webhooks.ts";
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

/** Appends events of one email each, or all of `emailId`. */
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

/** Appends many events in one statement, each of an email of its own. */
export async function addManyEvents(sql: Sql, workspaceId: string, count: number, type: string): Promise<void> {
  await sql`
    with bump as (update event_counters set last = last + ${count} where workspace_id = ${workspaceId} returning last - ${count} as base)
    insert into events (workspace_id, number, id, type, email_id, message_id, payload, created_at)
    select ${workspaceId}, base + n, gen_random_uuid(), ${type}, gen_random_uuid(), '<x@sender.test>', '{"recipients": ["a@there.test"]}', clock_timestamp()
    from bump, generate_series(1, ${count}::int) n`;
}
