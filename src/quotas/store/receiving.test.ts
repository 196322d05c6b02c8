import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { createEmailStore } from "../../emails/store/emails.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { noDefaults, unlimited } from "../rules/limits.ts";
import { countedInbound, findFullInboundQuota } from "./receiving.ts";
import { setQuota } from "./standing.ts";
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

type Message = { workspaceId: string; id: string; sizeBytes: number };

/** Counts messages as the statement that stores them does. */
async function count(messages: readonly Message[]): Promise<void> {
  const { sql } = database;
  await sql`
    with unseen as (
      select * from unnest(${messages.map((one) => one.workspaceId)}::uuid[], ${messages.map((one) => one.id)}::uuid[],
        ${messages.map((one) => one.sizeBytes)}::bigint[]) as x(workspace_id, id, size_bytes)
    ), ${countedInbound(sql)}
    select 1`;
}
const message = (sizeBytes: number, atMs = Date.now()): Message => ({ workspaceId, id: makeUuid(atMs), sizeBytes });

async function used() {
  const [usage] = await readUsage(database.sql, [workspaceId]);
  return [usage!.used.inboundPerHour, usage!.used.storedBytes];
}
const full = (defaults = noDefaults) => findFullInboundQuota(database.sql, workspaceId, defaults);

describe("inbound messages", () => {
  it("are counted with their bytes, for several workspaces and by concurrent statements", async () => {
    const other = await makeWorkspace(database.sql);
    await Promise.all(Array.from({ length: 5 }, () => count([message(10), message(20)])));
    await count([message(1), { ...message(5), workspaceId: other }]);
    assert.deepEqual(await used(), [11, 151]);
    workspaceId = other;
    assert.deepEqual(await used(), [1, 5]);
  });

  it("count by the day of their id, so that their bytes can be subtracted with the partition", async () => {
    const day = Date.parse("2026-03-01T23:59:59.999Z");
    await count([message(10, day), message(20, day + 1), message(30, day + 1)]);
    const rows = await database.sql<{ day: string; bytes: number }[]>`
      select day::text, bytes::int from content_sizes where workspace_id = ${workspaceId} and content = 'inbound' order by day`;
    assert.deepEqual(
      rows.map(({ day, bytes }) => [day, bytes]),
      [
        ["2026-03-01", 10],
        ["2026-03-02", 50],
      ],
    );
  });

  it("start again in the next hour, and their bytes stay", async () => {
    await count([message(10)]);
    await database.sql`update workspace_usage set inbound_hour = inbound_hour - interval '1 hour' where workspace_id = ${workspaceId}`;
    assert.deepEqual(await used(), [0, 10]);
    await count([message(10)]);
    assert.deepEqual(await used(), [1, 20]);
  });

  it("of an hour that service time fell back from still count", async () => {
    await count([message(10)]);
    await database.sql`update workspace_usage set inbound_hour = inbound_hour + interval '1 hour' where workspace_id = ${workspaceId}`;
    await count([message(10)]);
    assert.deepEqual(await used(), [2, 20]);
  });
});

describe("the quota that is full", () => {
  it("is none without limits, without use and for an unknown workspace", async () => {
    assert.equal(await full(), undefined);
    await count([message(1_000_000)]);
    assert.equal(await full(), undefined);
    workspaceId = makeUuid(Date.now());
    assert.equal(await full({ established: { ...unlimited, inboundPerHour: 0 }, fromSignUp: unlimited }), undefined);
  });

  it("is that of messages from the last one that fits on", async () => {
    await setQuota(database.sql, workspaceId, { inboundPerHour: 2 });
    await count([message(1)]);
    assert.equal(await full(), undefined);
    await count([message(1)]);
    assert.equal(await full(), "inboundPerHour");
    await database.sql`update workspace_usage set inbound_hour = inbound_hour - interval '1 hour' where workspace_id = ${workspaceId}`;
    assert.equal(await full(), undefined, "the next hour");
  });

  it("is that of stored bytes, to which emails in all slots count", async () => {
    await setQuota(database.sql, workspaceId, { storedBytes: 100 });
    await database.sql`insert into workspace_usage (workspace_id, slot, stored_bytes) values (${workspaceId}, 7, 50)`;
    await createEmailStore(database.sql).accept(newEmail(workspaceId, ["a@there.test"], { sizeBytes: 49 }));
    assert.equal(await full(), undefined);
    await count([message(1)]);
    assert.equal(await full(), "storedBytes");
  });

  it("is one with a limit of 0 before any use, and that of new workspaces for new ones", async () => {
    const defaults = { established: unlimited, fromSignUp: { ...unlimited, inboundPerHour: 0 } };
    assert.equal(await full(defaults), undefined);
    await database.sql`update workspaces set from_sign_up = true where id = ${workspaceId}`;
    assert.equal(await full(defaults), "inboundPerHour");
    await setQuota(database.sql, workspaceId, { inboundPerHour: null, storedBytes: 0 });
    assert.equal(await full(defaults), "storedBytes");
  });
});
