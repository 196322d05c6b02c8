import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { storeBatch } from "./batches.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

const counted = async (workspaceId: string) =>
  (
    await database.sql`select (select count(*)::int from emails where workspace_id = ${workspaceId}) as emails,
    (select coalesce(sum(length(data)), 0)::int from email_contents where workspace_id = ${workspaceId}) as content,
    (select count(*)::int from idempotency where workspace_id = ${workspaceId}) as keys`
  )[0];

test("a batch is stored completely, even if its content is larger than one statement takes", async () => {
  const workspaceId = await makeWorkspace(database.sql);
  const emails = Array.from({ length: 5 }, () =>
    newEmail(workspaceId, ["a@there.test"], { parts: ["{}", "x".repeat(400_000)] }),
  );
  assert.equal(await storeBatch(database.sql, { workspaceId, emails, answer: [], idempotency: undefined }), undefined);
  assert.deepEqual(await counted(workspaceId), { emails: 5, content: 5 * 400_002, keys: 0 });
});

test("batches are counted in the slot of their statement, in one statement or in several", async () => {
  const workspaceId = await makeWorkspace(database.sql);
  const batch = (parts: string[]) => [newEmail(workspaceId, ["a@there.test"], { parts, sizeBytes: 10 })];
  const store = (parts: string[], slot: number) =>
    storeBatch(database.sql, { workspaceId, emails: batch(parts), answer: [], idempotency: undefined, slot });
  await store(["{}"], 3);
  await store(["{}", "x".repeat(1_200_000)], 5);
  assert.deepEqual(
    [
      ...(await database.sql`select slot, stored_bytes::int as bytes from workspace_usage
      where workspace_id = ${workspaceId} order by slot`),
    ],
    [
      { slot: 0, bytes: 10 },
      { slot: 3, bytes: 10 },
    ],
  );
});

test("a used idempotency key returns the first answer and stores nothing until it expires", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const idempotency = { key: "k", requestHash: "h", keptForMs: 60_000 };
  const batch = (answer: string) => ({
    workspaceId,
    idempotency,
    answer: [{ id: answer }],
    emails: [newEmail(workspaceId, ["a@there.test"])],
  });
  const answers = await Promise.all(["one", "two", "three"].map((name) => storeBatch(sql, batch(name))));
  const [first] = await sql<{ answer: unknown }[]>`select answer from idempotency where workspace_id = ${workspaceId}`;
  assert.equal(answers.filter((answer) => answer === undefined).length, 1);
  for (const answer of answers) if (answer) assert.deepEqual(answer, { requestHash: "h", answer: first!.answer });
  assert.equal((await counted(workspaceId))!.emails, 1);
  await sql`update idempotency set expires_at = service_time() - interval '1 second' where workspace_id = ${workspaceId}`;
  assert.equal(await storeBatch(sql, batch("later")), undefined);
  assert.equal((await counted(workspaceId))!.emails, 2);
});

test("one invalid email rolls back the whole batch and its key", async () => {
  const workspaceId = await makeWorkspace(database.sql);
  const emails = [
    newEmail(workspaceId, ["a@there.test"]),
    newEmail(workspaceId, ["b@there.test"], { subject: "a\0b" }),
  ];
  const idempotency = { key: "k", requestHash: "h", keptForMs: 60_000 };
  await assert.rejects(storeBatch(database.sql, { workspaceId, emails, answer: [], idempotency }));
  assert.deepEqual(await counted(workspaceId), { emails: 0, content: 0, keys: 0 });
});

test("a domain that is deleted before the commit rolls back the whole batch and its key", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const emails = [
    newEmail(workspaceId, ["a@there.test"]),
    newEmail(workspaceId, ["b@there.test"], { domain: "no.test" }),
  ];
  const idempotency = { key: "k", requestHash: "h", keptForMs: 60_000 };
  await assert.rejects(storeBatch(sql, { workspaceId, emails, answer: [], idempotency }), /nothing was stored/);
  assert.deepEqual(await counted(workspaceId), { emails: 0, content: 0, keys: 0 });
});
