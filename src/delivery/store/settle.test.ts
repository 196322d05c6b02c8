import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail, settlement } from "../../../test/harness/mail.ts";
import { createEmailStore } from "../../emails/store/emails.ts";
import { makeLease, registerWorker } from "../../postgres/workers.ts";
import { findLanes, type Leased, leaseDue } from "./lease.ts";
import { settle } from "./settle.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

async function worker(): Promise<number> {
  return await registerWorker(database.sql, { host: "test", pid: 1, roles: ["delivery"], version: "0" });
}

async function leaseAll(workspaceId: string, workerId: number, count = 1): Promise<Leased[]> {
  const lanes = (await findLanes(database.sql, 1000)).filter((lane) => lane.workspaceId === workspaceId);
  return await leaseDue(
    database.sql,
    makeLease(workerId, count),
    lanes.map((lane) => ({ ...lane, quota: 1000 })),
  );
}

async function emailRow(id: string) {
  const [row] =
    await database.sql`select status, open, accepted, status_message as "statusMessage" from emails where id = ${id}`;
  return row!;
}

test("settling writes recipients, the email's status and counters, suppressions and events", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const email = newEmail(workspaceId, ["a@one.test", "b@one.test", "c@two.test"], { metadata: { order: "7" } });
  assert.deepEqual(await createEmailStore(sql).accept(email), { stored: true });
  const rows = await leaseAll(workspaceId, await worker());
  assert.deepEqual(rows.map((r) => r.address).sort(), ["a@one.test", "b@one.test", "c@two.test"]);
  assert.deepEqual(await leaseAll(workspaceId, await worker()), [], "another worker cannot lease them");

  const [a, b, c] = ["a", "b", "c"].map((name) => rows.find((r) => r.address.startsWith(name))!) as [
    Leased,
    Leased,
    Leased,
  ];
  assert.deepEqual(await settle(sql, [settlement(a, "delivered"), settlement(b, "delayed")]), [true, true]);
  assert.deepEqual(await emailRow(email.id), { status: "queued", open: 2, accepted: 1, statusMessage: "250 2.0.0 ok" });
  assert.deepEqual(
    await settle(sql, [settlement(c, "bounced", { reply: "550 5.1.1 no such user", suppress: "c@two.test" })]),
    [true],
  );
  assert.deepEqual(await settle(sql, [settlement(c, "delivered")]), [false], "a settled recipient does not change");

  const events =
    await sql`select number, type, email_id, message_id, metadata, payload from events where workspace_id = ${workspaceId} order by number`;
  assert.deepEqual(
    events.map((e) => [e.number, e.type, e.email_id, e.message_id, e.metadata, e.payload]),
    [
      ["1", "email.delivered", email.id, email.messageId, { order: "7" }, { recipients: ["a@one.test"] }],
      ["2", "email.delayed", email.id, email.messageId, { order: "7" }, { recipients: ["b@one.test"] }],
      ["3", "email.bounced", email.id, email.messageId, { order: "7" }, { recipients: ["c@two.test"] }],
    ],
  );
  const listed = await sql`select address, reason from suppressions where workspace_id = ${workspaceId}`;
  assert.deepEqual([...listed], [{ address: "c@two.test", reason: "bounce" }]);
});

test("a search with more lanes than its limit continues after the last lane", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const store = createEmailStore(sql);
  const names = ["turn-a.test", "turn-b.test", "turn-c.test", "turn-d.test", "turn-e.test"];
  await store.accept(
    newEmail(
      workspaceId,
      names.map((name) => `x@${name}`),
    ),
  );
  const seen: string[] = [];
  let after = { destination: "turn-", workspaceId };
  for (;;) {
    const found = await findLanes(sql, 2, after);
    seen.push(...found.map((lane) => lane.destination).filter((name) => name.startsWith("turn-")));
    if (found.length < 2) break;
    after = found.at(-1)!;
  }
  assert.deepEqual(seen, names);
});

test("the lease of a worker without a heartbeat is taken over and in doubt, and its late settlement is rejected", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const email = newEmail(workspaceId, ["a@silent.test"]);
  await createEmailStore(sql).accept(email);
  const dead = await worker();
  const [lost] = await leaseAll(workspaceId, dead);
  assert.equal(lost!.inDoubt, false);
  await sql`update workers set beat_at = beat_at - interval '31 seconds' where id = ${dead}`;
  const [taken] = await leaseAll(workspaceId, await worker());
  assert.equal(taken!.inDoubt, true);
  assert.deepEqual(await settle(sql, [settlement(lost!, "delivered")]), [false]);
  assert.deepEqual(await settle(sql, [settlement(taken!, "delivered")]), [true]);
  assert.deepEqual(await emailRow(email.id), { status: "sent", open: 0, accepted: 1, statusMessage: "250 2.0.0 ok" });
});

test("two nodes settle two recipients of the same emails, 1,000 times: statuses are right and event numbers have no gap", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const store = createEmailStore(sql);
  const emails = Array.from({ length: 1000 }, () => newEmail(workspaceId, ["a@left.test", "b@right.test"]));
  await Promise.all(emails.map((email) => store.accept(email)));
  const rows = await leaseAll(workspaceId, await worker());
  assert.equal(rows.length, 2000);
  const left = rows.filter((r) => r.destination === "left.test");
  const right = new Map(rows.filter((r) => r.destination === "right.test").map((r) => [r.emailId, r]));
  // The nodes settle the same emails in opposite order.
  for (let i = 0; i < left.length; i += 25) {
    const mine = left.slice(i, i + 25);
    const theirs = mine.map((r) => right.get(r.emailId)!).reverse();
    await Promise.all([
      settle(
        sql,
        mine.map((r) => settlement(r, "delivered")),
      ),
      settle(
        sql,
        theirs.map((r) => settlement(r, "bounced")),
      ),
    ]);
  }
  const [states] =
    await sql`select count(*)::int as n, min(status) as low, max(status) as high, max(open) as open, min(accepted) as accepted
    from emails where workspace_id = ${workspaceId}`;
  assert.deepEqual(states, { n: 1000, low: "sent", high: "sent", open: 0, accepted: 1 });
  const [numbers] =
    await sql`select count(*)::int as n, min(number)::int as low, max(number)::int as high, count(distinct number)::int as d
    from events where workspace_id = ${workspaceId}`;
  assert.deepEqual(numbers, { n: 2000, low: 1, high: 2000, d: 2000 });
});
