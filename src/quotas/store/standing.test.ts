import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { passServiceTime, shiftWallTime } from "../../../test/harness/time.ts";
import { createEmailStore } from "../../emails/store/emails.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { partitionOf } from "../../postgres/partitions.ts";
import { resumptionNotice, suspensionNotice } from "../notice-text.ts";
import { noDefaults } from "../rules/limits.ts";
import { forgetDroppedContent, resume, setQuota, suspend } from "./standing.ts";
import { readUsage } from "./usage.ts";

let database: TestDatabase;
let workspaceId: string;
before(async () => {
  database = await createTestDatabase();
});
beforeEach(async () => {
  workspaceId = await makeWorkspace(database.sql);
});
after(async () => await database.drop());

const named = () => ({ workspaceId, name: "test" });
const suspendNow = (reason: string) =>
  suspend(database.sql, {
    notice: suspensionNotice(named(), reason, undefined, Date.now()),
    reason,
    automatic: false,
  });
const resumeNow = () => resume(database.sql, resumptionNotice(named(), undefined, Date.now()));

async function eventTypes(): Promise<string[]> {
  const rows = await database.sql<{ type: string }[]>`
    select type from events where workspace_id = ${workspaceId} order by number`;
  return rows.map(({ type }) => type);
}
const usage = async () => (await readUsage(database.sql, [workspaceId]))[0]!;

describe("a suspension", () => {
  it("happens once, also by concurrent calls, and keeps its first reason", async () => {
    const answers = await Promise.all([suspendNow("Unpaid."), suspendNow("Unpaid."), suspendNow("Unpaid.")]);
    assert.equal(answers.filter(Boolean).length, 1);
    assert.equal(await suspendNow("Again."), false);
    assert.equal((await usage()).suspendedReason, "Unpaid.");
    const resumed = await Promise.all([resumeNow(), resumeNow()]);
    assert.deepEqual(resumed.sort(), [false, true]);
    assert.deepEqual([(await usage()).suspendedAt, (await usage()).suspendedReason], [null, null]);
    assert.deepEqual(await eventTypes(), ["workspace.suspended", "workspace.resumed"]);
  });

  it("is not possible for a workspace that does not exist, and one that is active cannot be resumed", async () => {
    assert.equal(await resumeNow(), false);
    assert.deepEqual(await eventTypes(), []);
    workspaceId = makeUuid(Date.now());
    assert.equal(await suspendNow("Unpaid."), false);
    assert.equal(
      (await database.sql`select 1 from workspace_suspensions where workspace_id = ${workspaceId}`).length,
      0,
    );
  });

  it("is recorded with its length in service time, each of several", async () => {
    for (const hours of [1, 2]) {
      await suspendNow("Unpaid.");
      await passServiceTime(database.sql, `${hours} hours`);
      await shiftWallTime(database.sql, "5 days");
      await resumeNow();
      await shiftWallTime(database.sql, "0 days");
    }
    const rows = await database.sql<{ hours: number }[]>`
      select round(extract(epoch from service_to - service_from) / 3600)::int as hours from workspace_suspensions
      where workspace_id = ${workspaceId} order by service_from`;
    assert.deepEqual(
      rows.map(({ hours }) => hours),
      [1, 2],
    );
  });

  it("that ends starts the figures of the brake anew, from the end of the log", async () => {
    await suspendNow("Bounces.");
    await database.sql`insert into sending_records (workspace_id, steps, warning)
      values (${workspaceId}, '[[100, 50, 0]]', '{"figure": "bounces"}')`;
    await resumeNow();
    const [row] = await database.sql<{ steps: unknown[]; warning: unknown; behind: number }[]>`
      select steps, warning, (c.last - events_to)::int as behind from sending_records join event_counters c using (workspace_id)
      where workspace_id = ${workspaceId}`;
    assert.deepEqual([row!.steps, row!.warning], [[], null]);
    assert.ok(row!.behind <= 1, "at most the event of the resumption follows");
  });
});

describe("the limits of a workspace", () => {
  it("change only where they are named, to numbers, unlimited, nothing or the setting", async () => {
    await setQuota(database.sql, workspaceId, { keys: 5, domains: null, members: 0 });
    await setQuota(database.sql, workspaceId, { keys: 6, webhooks: 1 });
    assert.deepEqual((await usage()).quota, { keys: 6, domains: null, members: 0, webhooks: 1 });
    await setQuota(database.sql, workspaceId, { keys: undefined, members: undefined, streams: undefined });
    assert.deepEqual((await usage()).quota, { domains: null, webhooks: 1 });
    await setQuota(database.sql, workspaceId, {});
    assert.deepEqual((await usage()).quota, { domains: null, webhooks: 1 });
  });
});

describe("dropped content", () => {
  it("is subtracted from the row that counted it, and never below 0", async () => {
    const { sql } = database;
    const scheduledAt = new Date(Date.now() + 22 * 86_400_000);
    const sized = (sizeBytes: number) => newEmail(workspaceId, ["a@there.test"], { sizeBytes, scheduledAt });
    const store = createEmailStore(sql, { quotas: noDefaults });
    await store.accept(sized(300));
    await setQuota(sql, workspaceId, { emailsPerHour: 100 });
    await store.accept(sized(500));
    const [row] = await sql<{ rows: number }[]>`
      select count(*)::int as rows from workspace_usage where workspace_id = ${workspaceId}`;
    assert.equal(row!.rows, 2, "a slot of the unlimited workspace, and the row of the limited one");
    await sql`update workspace_usage set stored_bytes = 100 where workspace_id = ${workspaceId} and slot = 0`;
    await sql.unsafe(`drop table ${partitionOf("email_contents", scheduledAt.getTime()).name}`);
    await forgetDroppedContent(sql);
    assert.equal((await usage()).used.storedBytes, 0);
    assert.equal((await sql`select 1 from content_sizes where workspace_id = ${workspaceId}`).length, 0);
  });

  it("of inbound mail does not take the bytes of emails of the same day", async () => {
    const { sql } = database;
    const dayMs = Date.now() + 23 * 86_400_000;
    const day = new Date(dayMs).toISOString().slice(0, 10);
    await sql`insert into workspace_usage (workspace_id, stored_bytes) values (${workspaceId}, 70)`;
    await sql`insert into content_sizes (workspace_id, content, day, bytes)
      values (${workspaceId}, 'emails', ${day}::date, 50), (${workspaceId}, 'inbound', ${day}::date, 20)`;
    await sql.unsafe(`drop table if exists ${partitionOf("inbound_contents", dayMs).name}`);
    await forgetDroppedContent(sql);
    assert.equal((await usage()).used.storedBytes, 50);
  });
});
