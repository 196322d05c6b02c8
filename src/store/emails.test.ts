import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../test/harness/mail.ts";
import { readContents } from "./content.ts";
import type { Sql } from "./db.ts";
import { createEmailStore } from "./emails.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

const today = () => new Date().toISOString().slice(0, 10);

test("concurrent emails share commits and each comes back whole", async () => {
  const workspaceId = await makeWorkspace(database.sql);
  const store = createEmailStore(database.sql);
  const emails = Array.from({ length: 300 }, (_, i) =>
    newEmail(workspaceId, [`r${i}@there.test`], {
      parts: [JSON.stringify({ text: `text ${i} "quoted" \\ back`, html: "" })],
    }),
  );
  const answers = await Promise.all(emails.map((email) => store.accept(email)));
  assert.ok(answers.every((answer) => answer.stored));
  const contents = await readContents(
    database.sql,
    emails.map((e) => ({ workspaceId, emailId: e.id, day: today() })),
  );
  for (const email of emails) assert.deepEqual(contents.get(email.id), email.parts);
});

test("content that is asked for twice at once, for two destinations of one email, comes once", async () => {
  const workspaceId = await makeWorkspace(database.sql);
  const email = newEmail(workspaceId, ["a@there.test", "b@other.test"], { parts: ['{"text":"x","html":""}', "QUJD"] });
  await createEmailStore(database.sql).accept(email);
  const key = { workspaceId, emailId: email.id, day: today() };
  assert.deepEqual((await readContents(database.sql, [key, { ...key }, key])).get(email.id), email.parts);
});

test("fifty equal calls with one idempotency key store one email", async () => {
  const workspaceId = await makeWorkspace(database.sql);
  const stores = [createEmailStore(database.sql), createEmailStore(database.sql)];
  const idempotency = { key: "order 7", requestHash: "h", keptForMs: 86_400_000 };
  const emails = Array.from({ length: 50 }, () => newEmail(workspaceId, ["a@there.test"], { idempotency }));
  const answers = await Promise.all(emails.map((email, i) => stores[i % 2]!.accept(email)));
  const first = emails[answers.findIndex((answer) => answer.stored)]!;
  assert.equal(answers.filter((answer) => answer.stored).length, 1);
  for (const answer of answers)
    if (!answer.stored) assert.deepEqual(answer, { stored: false, emailId: first.id, requestHash: "h" });
  const [count] = await database.sql`select count(*)::int as n from emails where workspace_id = ${workspaceId}`;
  assert.deepEqual(count, { n: 1 });
});

test("an idempotency key that has run out is free again", async () => {
  const workspaceId = await makeWorkspace(database.sql);
  const store = createEmailStore(database.sql);
  const idempotency = { key: "k", requestHash: "h", keptForMs: 86_400_000 };
  await store.accept(newEmail(workspaceId, ["a@there.test"], { idempotency }));
  await database.sql`update idempotency set expires_at = now() - interval '1 second' where workspace_id = ${workspaceId}`;
  assert.deepEqual(await store.accept(newEmail(workspaceId, ["a@there.test"], { idempotency })), { stored: true });
});

test("a domain that may not send keeps its own emails out, with the reason, and nobody else's", async () => {
  const { sql } = database;
  const [workspaceId, waiting, bare] = await Promise.all(["A", "B", "C"].map((name) => makeWorkspace(sql, name)));
  await sql`update domains set can_send = false, status = 'pending', note = 'publish it' where workspace_id = ${waiting!}`;
  await sql`update domains set deleted_at = now() where workspace_id = ${bare!}`;
  const store = createEmailStore(sql);
  const idempotency = { key: "k", requestHash: "h", keptForMs: 86_400_000 };
  const answers = await Promise.all([
    store.accept(newEmail(waiting!, ["a@there.test"], { idempotency })),
    store.accept(newEmail(workspaceId!, ["a@there.test"], { idempotency })),
    store.accept(newEmail(bare!, ["a@there.test"])),
    store.accept(newEmail(bare!, ["a@there.test"], { parts: ["{}", "A".repeat(2_000_000)] })),
  ]);
  const noDomain = { stored: false, emailId: undefined, domain: undefined };
  const mute = { ...noDomain, domain: { status: "pending", note: "publish it" } };
  assert.deepEqual(answers, [mute, { stored: true }, noDomain, noDomain]);
  const rows = await sql`
    select (select count(*)::int from emails where workspace_id = w.id) as emails,
      (select count(*)::int from idempotency where workspace_id = w.id) as keys,
      (select count(*)::int from email_contents where workspace_id = w.id) as contents
    from unnest(${[workspaceId, waiting, bare]}::uuid[]) with ordinality as w(id, ord) order by ord`;
  const none = { emails: 0, keys: 0, contents: 0 };
  assert.deepEqual(rows, [{ emails: 1, keys: 1, contents: 1 }, none, none]);
  // Once it may send, the key is free for it.
  await sql`update domains set can_send = true where workspace_id = ${waiting!}`;
  assert.deepEqual(await store.accept(newEmail(waiting!, ["a@there.test"], { idempotency })), { stored: true });
});

test("what is stored is answered so, whatever becomes of the look at a key that was used before", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const idempotency = { key: "k", requestHash: "h", keptForMs: 86_400_000 };
  await createEmailStore(sql).accept(newEmail(workspaceId, ["a@there.test"], { idempotency }));
  // The connection is lost between the two statements.
  const cut = ((strings: TemplateStringsArray, ...values: unknown[]) =>
    strings.join("").includes("join idempotency i")
      ? Promise.reject(new Error("lost"))
      : sql(strings, ...values)) as Sql;
  const told: string[] = [];
  const store = createEmailStore(cut, { onStored: (emails) => told.push(...emails.map(({ id }) => id)) });
  const good = newEmail(workspaceId, ["a@there.test"]);
  const answers = await Promise.allSettled([
    store.accept(good),
    store.accept(newEmail(workspaceId, ["a@there.test"], { idempotency })),
  ]);
  assert.deepEqual(answers[0], { status: "fulfilled", value: { stored: true } });
  assert.equal(answers[1].status, "rejected");
  assert.deepEqual(told, [good.id]);
});

test("a row that cannot be stored fails alone", async () => {
  const workspaceId = await makeWorkspace(database.sql);
  const store = createEmailStore(database.sql);
  const good = newEmail(workspaceId, ["a@there.test"]);
  const bad = newEmail(workspaceId, ["a@there.test"], {
    recipients: [{ kind: "nobody" as "to", address: "a@there.test", destination: "there.test" }],
  });
  const [one, two] = await Promise.allSettled([store.accept(good), store.accept(bad)]);
  assert.deepEqual(one, { status: "fulfilled", value: { stored: true } });
  assert.equal(two.status, "rejected");
  const [count] = await database.sql`select count(*)::int as n from emails where workspace_id = ${workspaceId}`;
  assert.deepEqual(count, { n: 1 });
});

test("content larger than a batch goes in pieces and comes back as it was, no character cut in two", async () => {
  const workspaceId = await makeWorkspace(database.sql);
  const text = "x" + "😀".repeat(400_000);
  const email = newEmail(workspaceId, ["a@there.test"], {
    parts: [JSON.stringify({ text, html: "" }), "QUJD".repeat(300_000), ""],
  });
  assert.deepEqual(await createEmailStore(database.sql).accept(email), { stored: true });
  const contents = await readContents(database.sql, [{ workspaceId, emailId: email.id, day: today() }]);
  assert.deepEqual(contents.get(email.id), email.parts);
});

test("a scheduled email is due, kept and expired by its own time", async () => {
  const workspaceId = await makeWorkspace(database.sql);
  const scheduledAt = new Date(Date.now() + 5 * 86_400_000);
  const email = newEmail(workspaceId, ["a@there.test"], { scheduledAt, retryForMs: 3_600_000 });
  await createEmailStore(database.sql).accept(email);
  const [row] =
    await database.sql`select e.content_day::text as day, e.expires_at as expires, r.due_at as due from emails e
    join recipients r on r.email_id = e.id where e.id = ${email.id}`;
  assert.deepEqual(row, {
    day: scheduledAt.toISOString().slice(0, 10),
    due: scheduledAt,
    expires: new Date(scheduledAt.getTime() + 3_600_000),
  });
});
