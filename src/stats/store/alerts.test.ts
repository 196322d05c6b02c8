import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace } from "../../../test/harness/mail.ts";
import { passServiceTime } from "../../../test/harness/time.ts";
import { raiseAlerts } from "../alert-loop.ts";
import { readAlerts } from "./alerts.ts";
import { updateSettings } from "./settings.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database?.drop());

type Part = "delivered" | "bounced" | "complained";

/** Counts mail in an hour, as a fold would. */
async function count(workspaceId: string, counts: Partial<Record<Part, number>>, hoursAgo = 0): Promise<void> {
  const { delivered = 0, bounced = 0, complained = 0 } = counts;
  await database.sql`
    with mark as (
      insert into stats_marks as m (workspace_id, events_to) values (${workspaceId}, 1)
      on conflict (workspace_id) do update set events_to = m.events_to + 1)
    insert into stats_groups as g select ${workspaceId}, 'live', date_trunc('hour', now() - ${hoursAgo} * interval '1 hour'), '=', 0, 0,
      ${delivered}, 0, ${bounced}, 0, ${complained}, 0, 0, 0
    on conflict (workspace_id, dimension, hour, value) do update set delivered = g.delivered + excluded.delivered,
      bounced = g.bounced + excluded.bounced, complained = g.complained + excluded.complained`;
}

const judge = async (restMs = 0, aheadMs = 0) => {
  let events = 0;
  await raiseAlerts(
    { sql: database.sql, clock: { nowMs: () => Date.now() + aheadMs } as never, onEvent: () => events++ },
    restMs,
  );
  return events;
};
const eventsOf = async (workspaceId: string) =>
  await database.sql<{ figure: string; rate: number }[]>`
    select payload ->> 'figure' as figure, (payload ->> 'rate')::float8 as rate from events
    where workspace_id = ${workspaceId} and type = 'workspace.alert' order by number`;
const mailsOf = async (workspaceId: string) =>
  await database.sql<
    { subject: string }[]
  >`select subject from owner_mails where workspace_id = ${workspaceId} order by id`;
const raisedIn = async (workspaceId: string) =>
  (await readAlerts(database.sql, workspaceId)).map(({ figure }) => figure);

test("an alert is raised once per passing, with an event and a mail, and reported again after recovery, at most once a day", async () => {
  const workspaceId = await makeWorkspace(database.sql, "Shop\r\nBcc: x@there.test");
  await count(workspaceId, { delivered: 2, bounced: 1 });
  assert.equal(await judge(), 0, "1 of 3");
  await count(workspaceId, { delivered: 90, bounced: 9 });
  assert.equal(await judge(), 1);
  await count(workspaceId, { bounced: 5 });
  for (let i = 0; i < 3; i++) assert.equal(await judge(), 0, "raised already");
  assert.deepEqual([await raisedIn(workspaceId), (await eventsOf(workspaceId)).length], [["bounces"], 1]);
  const mails = await mailsOf(workspaceId);
  assert.deepEqual(
    mails.map(({ subject }) => subject),
    ["Shop Bcc: x@there.test: the bounce rate is above its threshold"],
  );
  await count(workspaceId, { delivered: 1000 });
  await judge();
  assert.deepEqual(await raisedIn(workspaceId), [], "recovered");
  await count(workspaceId, { bounced: 100 });
  assert.equal(await judge(), 0, "reported less than a day ago");
  assert.deepEqual(await raisedIn(workspaceId), ["bounces"], "and shown");
  assert.deepEqual([(await eventsOf(workspaceId)).length, (await mailsOf(workspaceId)).length], [1, 1]);
  await count(workspaceId, { delivered: 5000 });
  await judge();
  await passServiceTime(database.sql, "25 hours");
  await count(workspaceId, { bounced: 1000 });
  assert.equal(await judge(), 1);
  assert.deepEqual([(await eventsOf(workspaceId)).length, (await mailsOf(workspaceId)).length], [2, 2]);
});

test("a clock that jumps ahead and back reports an alert once", async () => {
  const workspaceId = await makeWorkspace(database.sql);
  await count(workspaceId, { delivered: 100, bounced: 50 });
  assert.equal(await judge(), 1);
  assert.equal(await judge(0, 3 * 86_400_000), 0);
  await count(workspaceId, { bounced: 1 });
  assert.equal(await judge(), 0);
  assert.deepEqual(await raisedIn(workspaceId), ["bounces"]);
  assert.equal((await mailsOf(workspaceId)).length, 1);
});

test("nodes that judge at the same time, or a node that is killed before it marks the workspace, raise one alert", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  await count(workspaceId, { delivered: 500, complained: 5 });
  await Promise.all([1, 2, 3, 4].map(() => judge()));
  await sql`delete from rate_alert_marks where workspace_id = ${workspaceId}`;
  await judge();
  assert.deepEqual(
    [(await eventsOf(workspaceId)).map(({ figure }) => figure), (await mailsOf(workspaceId)).length],
    [["complaints"], 1],
  );
});

test("only the last 24 hours count, and an alert ends when they have passed, without new mail", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  await count(workspaceId, { delivered: 100, bounced: 50 }, 26);
  assert.equal(await judge(), 0);
  await count(workspaceId, { delivered: 100, bounced: 50 }, 23);
  assert.equal(await judge(), 1);
  await sql`update stats_groups set hour = hour - interval '3 hours' where workspace_id = ${workspaceId}`;
  await judge();
  assert.deepEqual(await raisedIn(workspaceId), []);
});

test("a workspace sets its own thresholds, and can disable an alert", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  await updateSettings(sql, workspaceId, { bounces: { rate: 0.02, least: 10 }, complaints: { disabled: true } });
  await count(workspaceId, { delivered: 97, bounced: 3, complained: 50 });
  await judge();
  assert.deepEqual(await raisedIn(workspaceId), ["bounces"]);
  await updateSettings(sql, workspaceId, { bounces: { disabled: true } });
  await judge();
  assert.deepEqual(await raisedIn(workspaceId), []);
});

test("a workspace rests between two judgements, and one without new mail is not judged again", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const judgedAt = async () => {
    const [row] = await sql<
      { at: string }[]
    >`select judged_at::text as at from rate_alert_marks where workspace_id = ${workspaceId}`;
    return row?.at;
  };
  await count(workspaceId, { delivered: 10 });
  await judge();
  const first = await judgedAt();
  await judge();
  assert.equal(await judgedAt(), first, "nothing new");
  await count(workspaceId, { delivered: 500, bounced: 100 });
  await judge(30_000);
  assert.deepEqual([await judgedAt(), await raisedIn(workspaceId)], [first, []], "it rests");
  await passServiceTime(sql, "31 seconds");
  await judge(30_000);
  assert.deepEqual(await raisedIn(workspaceId), ["bounces"]);
});
