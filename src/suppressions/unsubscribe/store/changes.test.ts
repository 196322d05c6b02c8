import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../../test/harness/mail.ts";
import { storeBatch } from "../../../emails/store/batches.ts";
import { makeUuid } from "../../../postgres/ids.ts";
import { type Change, resubscribe, sentTopics, simulateUnsubscribe, unsubscribe } from "./changes.ts";
import { listUnsubscribes } from "./entries.ts";

let database: TestDatabase;
let workspaceId: string;
before(async () => {
  database = await createTestDatabase();
  workspaceId = await makeWorkspace(database.sql);
});
after(async () => await database.drop());

async function store(address: string, topic: string | undefined, test = false): Promise<string> {
  const email = newEmail(workspaceId, [address]);
  const envelope = { ...email.envelope, ...(topic && { unsubscribe: { topic } }) };
  await storeBatch(database.sql, {
    workspaceId,
    emails: [{ ...email, envelope, test }],
    answer: [],
    idempotency: undefined,
  });
  return email.id;
}

const change = (address: string, more: Partial<Change> = {}): Change => ({
  workspaceId,
  emailId: makeUuid(Date.now()),
  address,
  topic: "news",
  method: "one_click",
  eventId: makeUuid(Date.now()),
  ...more,
});

const eventsOf = async (address: string) => [
  ...(await database.sql<{ id: string; emailId: string | null; payload: Record<string, unknown> }[]>`
      select id, email_id as "emailId", payload from events
      where workspace_id = ${workspaceId} and payload -> 'recipients' ->> 0 = ${address} order by number`),
];

test("an entry and its event are written once, and the event names a stored email", async () => {
  const emailId = await store("Ann@there.test", "news");
  const first = change("Ann@there.test", { emailId });
  assert.equal(await unsubscribe(database.sql, first), true);
  assert.equal(await unsubscribe(database.sql, change("ANN@there.test")), false);
  const [entry, ...rest] = await listUnsubscribes(database.sql, { workspaceId, search: "ann@there.test", limit: 10 });
  assert.deepEqual(
    [entry!.topic, entry!.method, entry!.emailId, entry!.sourceEvent, rest],
    ["news", "one_click", emailId, first.eventId, []],
  );
  const payload = { recipients: ["Ann@there.test"], topic: "news", method: "UNSUBSCRIBE_METHOD_ONE_CLICK" };
  assert.deepEqual(await eventsOf("Ann@there.test"), [{ id: first.eventId, emailId, payload }]);

  const back = change("Ann@there.test", { emailId, method: "page" });
  assert.equal(await resubscribe(database.sql, back), true);
  assert.equal(await resubscribe(database.sql, change("Ann@there.test")), false);
  assert.deepEqual(await listUnsubscribes(database.sql, { workspaceId, search: "ann@there.test", limit: 10 }), []);
  const [, second] = await eventsOf("Ann@there.test");
  assert.deepEqual(second!.payload, { ...payload, method: "UNSUBSCRIBE_METHOD_PAGE", resubscribed: true });
});

test("many calls at the same time write one event without a gap in the log", async () => {
  const results = await Promise.all(
    Array.from({ length: 10 }, () => unsubscribe(database.sql, change("bo@there.test"))),
  );
  assert.equal(results.filter((one) => one === true).length, 1);
  assert.equal((await eventsOf("bo@there.test")).length, 1);
  const [log] = await database.sql<{ last: string; count: string }[]>`
    select last, (select count(*) from events e where e.workspace_id = c.workspace_id) as count from event_counters c
    where workspace_id = ${workspaceId}`;
  assert.equal(log!.last, log!.count);
});

test("nothing is written for a workspace that does not exist", async () => {
  const gone = change("cy@there.test", { workspaceId: makeUuid(Date.now()) });
  assert.equal(await unsubscribe(database.sql, gone), "gone");
  assert.equal(await resubscribe(database.sql, gone), "gone");
  assert.deepEqual(
    await listUnsubscribes(database.sql, { workspaceId: gone.workspaceId, search: "cy@there.test", limit: 10 }),
    [],
  );
});

test("a test email gets one event while it is stored, and no entry", async () => {
  const emailId = await store("di@there.test", "news", true);
  const calls = Array.from({ length: 5 }, () =>
    simulateUnsubscribe(database.sql, change("di@there.test", { emailId })),
  );
  assert.equal((await Promise.all(calls)).filter((one) => one === true).length, 1);
  assert.equal(await simulateUnsubscribe(database.sql, change("di@there.test")), false);
  assert.equal((await eventsOf("di@there.test")).length, 1);
  assert.deepEqual(await listUnsubscribes(database.sql, { workspaceId, search: "di@there.test", limit: 10 }), []);
});

test("the topics of an address are those of its emails, without test emails and without other workspaces", async () => {
  for (const topic of ["b", "a", "b", undefined]) await store("El@there.test", topic);
  await store("el@there.test", "only-a-test", true);
  const otherId = await makeWorkspace(database.sql);
  assert.deepEqual(await sentTopics(database.sql, { workspaceId, address: "EL@there.test" }), {
    topics: ["a", "b"],
    exists: true,
  });
  assert.deepEqual(await sentTopics(database.sql, { workspaceId: otherId, address: "el@there.test" }), {
    topics: [],
    exists: true,
  });
  assert.equal((await sentTopics(database.sql, { workspaceId: makeUuid(0), address: "el@there.test" })).exists, false);
});
