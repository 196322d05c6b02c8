import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { readParts } from "../../../test/harness/contents.ts";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import type { Sql } from "../../postgres/pool.ts";
import { readContents } from "./content.ts";
import { createEmailStore } from "./emails.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

const today = () => new Date().toISOString().slice(0, 10);

test("concurrent emails share commits, and the content of each is unchanged", async () => {
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

test("content requested twice at once, for two destinations of one email, is returned once", async () => {
  const workspaceId = await makeWorkspace(database.sql);
  const email = newEmail(workspaceId, ["a@there.test", "b@other.test"], { parts: ['{"text":"x","html":""}', "QUJD"] });
  await createEmailStore(database.sql).accept(email);
  const key = { workspaceId, emailId: email.id, day: today() };
  assert.deepEqual((await readContents(database.sql, [key, { ...key }, key])).get(email.id), email.parts);
});

test("fifty equal calls with the same idempotency key store one email", async () => {
  const workspaceId = await makeWorkspace(database.sql);
  const stores = [createEmailStore(database.sql), createEmailStore(database.sql)];
  const idempotency = { key: "order 7", requestHash: "h", keptForMs: 86_400_000 };
  const emails = Array.from({ length: 50 }, () => newEmail(workspaceId, ["a@there.test"], { idempotency }));
  const answers = await Promise.all(emails.map((email, i) => stores[i % 2]!.accept(email)));
  const first = emails[answers.findIndex((answer) => answer.stored)]!;
  assert.equal(answers.filter((answer) => answer.stored).length, 1);
  for (const answer of answers)
    if (!answer.stored)
      assert.deepEqual(answer, { stored: false, emailId: first.id, messageId: first.messageId, requestHash: "h" });
  const [count] = await database.sql`select count(*)::int as n from emails where workspace_id = ${workspaceId}`;
  assert.deepEqual(count, { n: 1 });
});

test("an expired idempotency key can be used again", async () => {
  const workspaceId = await makeWorkspace(database.sql);
  const store = createEmailStore(database.sql);
  const idempotency = { key: "k", requestHash: "h", keptForMs: 86_400_000 };
  await store.accept(newEmail(workspaceId, ["a@there.test"], { idempotency }));
  await database.sql`update idempotency set expires_at = service_time() - interval '1 second' where workspace_id = ${workspaceId}`;
  assert.deepEqual(await store.accept(newEmail(workspaceId, ["a@there.test"], { idempotency })), { stored: true });
});

test("emails of a domain that may not send are left out with the reason, and all others are stored", async () => {
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
  const blocked = { ...noDomain, domain: { status: "pending", note: "publish it" } };
  assert.deepEqual(answers, [blocked, { stored: true }, noDomain, noDomain]);
  const rows = await sql`
    select (select count(*)::int from emails where workspace_id = w.id) as emails,
      (select count(*)::int from idempotency where workspace_id = w.id) as keys,
      (select count(*)::int from email_contents where workspace_id = w.id) as contents
    from unnest(${[workspaceId, waiting, bare]}::uuid[]) with ordinality as w(id, ord) order by ord`;
  const none = { emails: 0, keys: 0, contents: 0 };
  assert.deepEqual(rows, [{ emails: 1, keys: 1, contents: 1 }, none, none]);
  // The rejected email did not use up the key.
  await sql`update domains set can_send = true where workspace_id = ${waiting!}`;
  assert.deepEqual(await store.accept(newEmail(waiting!, ["a@there.test"], { idempotency })), { stored: true });
});

test("a stored email is reported as stored even if the lookup of another email's used key fails", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const idempotency = { key: "k", requestHash: "h", keptForMs: 86_400_000 };
  await createEmailStore(sql).accept(newEmail(workspaceId, ["a@there.test"], { idempotency }));
  // The connection is lost between the two statements.
  const read = (strings: TemplateStringsArray, ...values: unknown[]) =>
    strings.join("").includes("join idempotency i") ? Promise.reject(new Error("lost")) : sql(strings, ...values);
  const cut = Object.assign(read, { write: sql.write }) as unknown as Sql;
  const stored: string[] = [];
  const store = createEmailStore(cut, { onStored: (emails) => stored.push(...emails.map(({ id }) => id)) });
  const good = newEmail(workspaceId, ["a@there.test"]);
  const answers = await Promise.allSettled([
    store.accept(good),
    store.accept(newEmail(workspaceId, ["a@there.test"], { idempotency })),
  ]);
  assert.deepEqual(answers[0], { status: "fulfilled", value: { stored: true } });
  assert.equal(answers[1].status, "rejected");
  assert.deepEqual(stored, [good.id]);
});

test("a row that cannot be stored fails alone", async () => {
  const workspaceId = await makeWorkspace(database.sql);
  const store = createEmailStore(database.sql);
  const good = newEmail(workspaceId, ["a@there.test"]);
  const bad = newEmail(workspaceId, ["a@there.test"], {
    recipients: [{ kind: "nobody" as "to", address: "a@there.test", destination: "there.test" }],
  });
  const unsendable = newEmail(workspaceId, ["a@there.test"], { expiresAt: new Date(Number.NaN) });
  const [one, two, three] = await Promise.allSettled([good, bad, unsendable].map((email) => store.accept(email)));
  assert.deepEqual(one, { status: "fulfilled", value: { stored: true } });
  assert.equal(two!.status, "rejected");
  assert.equal(three!.status, "rejected");
  const [count] = await database.sql`select count(*)::int as n from emails where workspace_id = ${workspaceId}`;
  assert.deepEqual(count, { n: 1 });
});

test("content larger than a batch is stored in pieces and read back unchanged, with no character split", async () => {
  const workspaceId = await makeWorkspace(database.sql);
  const text = "x" + "😀".repeat(400_000);
  const email = newEmail(workspaceId, ["a@there.test"], {
    parts: [JSON.stringify({ text, html: "" }), "QUJD".repeat(300_000), ""],
  });
  assert.deepEqual(await createEmailStore(database.sql).accept(email), { stored: true });
  assert.deepEqual(await readParts(database.sql, { workspaceId, emailId: email.id, day: today() }), email.parts);
});

test("due time, content day and expiry of a scheduled email follow its scheduled time", async () => {
  const workspaceId = await makeWorkspace(database.sql);
  const scheduledAt = new Date(Date.now() + 5 * 86_400_000);
  const email = newEmail(workspaceId, ["a@there.test"], { scheduledAt, retryForMs: 3_600_000 });
  await createEmailStore(database.sql).accept(email);
  const [row] = await database.sql`
    select e.content_day::text as day, e.expires_at as expires, e.default_expires_at - r.due_at as "retryFor",
      r.due_at = e.scheduled_at - (wall_at - service_at) as due
    from service_clock, emails e join recipients r on r.email_id = e.id where e.id = ${email.id}`;
  const { retryFor, ...times } = row!;
  assert.deepEqual(times, {
    day: scheduledAt.toISOString().slice(0, 10),
    due: true,
    expires: new Date(scheduledAt.getTime() + 3_600_000),
  });
  assert.deepEqual({ ...(retryFor as object) }, { hours: 1 });
});
