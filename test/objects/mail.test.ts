/** Mail whose large content is in object storage: the real program, an S3 server, a receiver. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, afterEach, before, test } from "node:test";
import { startObjectStore, type TestStore } from "../harness/object-store.ts";
import { accepted, eventsOf, untilFinished } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

let store: TestStore;
let testbed: Testbed;
before(async () => {
  store = await startObjectStore();
  testbed = await startTestbed({ env: store.env });
});
afterEach(() => store.mode("serve"));
after(async () => {
  await testbed?.stop();
  await store?.stop();
});

const file = randomBytes(300_000);
const attached = { filename: "film.bin", contentType: "video/mp4", base64Content: file.toString("base64") };
const objects = async () => (await store.names()).filter((name) => name.startsWith("objects/"));
const rows = async (id: string) =>
  await testbed.database.sql<{ part: number; data: string; object: string | null }[]>`
    select part, data, object from email_contents where email_id = ${id.slice(3)} order by part`;

/** What GetEmailContent returns, without line ends. */
async function contentOf(id: string): Promise<string> {
  const { body } = await testbed.call("EmailService/GetEmailContent", { id });
  return Buffer.from(String(body.raw), "base64").toString("latin1").replaceAll("\r\n", "");
}

async function checks(): Promise<Record<string, string>> {
  const answer = await fetch(`${testbed.program.opsUrl}/readyz`);
  return ((await answer.json()) as { checks: Record<string, string> }).checks;
}

test("an attachment is an object before its email is accepted, and is delivered and shown unchanged", async () => {
  const id = await accepted(testbed, { to: ["large@there.test"], attachments: [attached] });
  const stored = await rows(id);
  assert.deepEqual(
    stored.map(({ part, data, object }) => [part, data === "*", object !== null]),
    [
      [0, false, false],
      [1, true, true],
    ],
  );
  assert.equal((await objects()).length, 1);
  await untilFinished(testbed, id);
  const { data } = testbed.sink.received("large@there.test")[0]!;
  assert.ok(data.toString("latin1").replaceAll("\r\n", "").includes(attached.base64Content));
  assert.ok((await contentOf(id)).includes(attached.base64Content));
});

test("while the store is away, small mail goes on and large mail is unavailable with the reason; it recovers by itself", async () => {
  store.mode({ status: 503, code: "SlowDown" });
  const before = await objects();
  const refused = await testbed.send({ to: ["large@there.test"], attachments: [attached] });
  assert.equal(refused.status, 503);
  assert.equal(refused.body.code, "unavailable");
  assert.match(String(refused.body.message), /object storage.*POSTHORN_CONTENT_URL/);
  assert.match(JSON.stringify(refused.body.details), /CONTENT_STORE_BUSY/);
  await untilFinished(testbed, await accepted(testbed, { to: ["small@there.test"] }));
  assert.equal((await checks())["object storage"], "failing");
  assert.equal((await fetch(`${testbed.program.opsUrl}/readyz`)).status, 200);
  store.mode("serve");
  await until("the store to be noticed", async () => (await checks())["object storage"] === "ok");
  assert.deepEqual(await objects(), before);
  await untilFinished(testbed, await accepted(testbed, { to: ["large@there.test"], attachments: [attached] }));
});

test("while the store is away, a repeated call gets the answer of the first, for one email and for a batch", async () => {
  const email = {
    from: "us@sender.test",
    to: ["again@there.test"],
    subject: "Again",
    text: "Hello",
    attachments: [attached],
  };
  const send = () =>
    testbed.send({ to: ["again@there.test"], attachments: [attached] }, { "idempotency-key": "one again" });
  const sendBatch = () =>
    testbed.call(
      "EmailService/SendEmailBatch",
      { emails: [email] },
      { headers: { "idempotency-key": "a batch again" } },
    );
  const first = [await send(), await sendBatch()];
  assert.deepEqual(
    first.map(({ status }) => status),
    [200, 200],
  );
  store.mode({ status: 503, code: "SlowDown" });
  const second = [await send(), await sendBatch()];
  store.mode("serve");
  await until("the store to be noticed", async () => (await checks())["object storage"] === "ok");
  assert.deepEqual(
    second.map(({ body }) => [body.id, body.results]),
    first.map(({ body }) => [body.id, body.results]),
  );
});

test("delivery of large mail waits for a store that is away, without using up its attempts, and nothing bounces", async () => {
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  const id = await accepted(testbed, { to: ["waits@there.test"], attachments: [attached], scheduledAt });
  store.mode("refuse");
  await testbed.call("EmailService/UpdateEmail", { id, scheduledAt: new Date().toISOString() });
  const recipient = async () =>
    (
      await testbed.database.sql<{ status: string; attempts: number; reply: string }[]>`
        select status, attempts, reply from recipients where email_id = ${id.slice(3)}`
    )[0]!;
  await until("the delivery to wait", async () => (await recipient()).status === "delayed");
  assert.deepEqual((await recipient()).attempts, 0);
  assert.match((await recipient()).reply, /object storage/);
  // Its default expiry has passed meanwhile.
  await testbed.database
    .sql`update emails set default_expires_at = service_time() - interval '1 hour' where id = ${id.slice(3)}`;
  await testbed.database
    .sql`update recipients set attempts = 3, due_at = service_time() where email_id = ${id.slice(3)}`;
  await until("its expiry to move", async () => {
    const [row] = await testbed.database.sql`
      select 1 from emails where id = ${id.slice(3)} and default_expires_at > service_time() + interval '3 hours'`;
    return row;
  });
  store.mode("serve");
  await until("the store to be noticed", async () => (await checks())["object storage"] === "ok");
  await testbed.database.sql`update recipients set due_at = service_time() where email_id = ${id.slice(3)}`;
  await untilFinished(testbed, id);
  assert.equal((await recipient()).status, "delivered");
  const events = (await testbed.events()).filter(({ event }) => event.emailId === id).map(({ event }) => event.type);
  assert.deepEqual(events, ["email.delayed", "email.delivered"]);
});

test("an email whose object was deleted from the store fails with this reason, and its content is not found", async () => {
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  const id = await accepted(testbed, { to: ["lost@there.test"], attachments: [attached], scheduledAt });
  const object = (await rows(id))[1]!.object!;
  const name = (await objects()).find((one) => one.endsWith(object))!;
  await store.s3().delete(name);
  await testbed.call("EmailService/UpdateEmail", { id, scheduledAt: new Date().toISOString() });
  await untilFinished(testbed, id);
  const [failed] = await eventsOf(testbed, id);
  const { category, reason } = failed!.payload;
  const isMissing = `The content of this email is lost: the object ${name} is missing from the object store.`;
  assert.deepEqual([category, reason], ["content_lost", isMissing]);
  const { body } = await testbed.call("EmailService/GetEmailContent", { id });
  assert.deepEqual([body.code, body.message], ["not_found", isMissing]);
});

test("an email that will be refused is not uploaded", async () => {
  const large = { to: ["large@there.test"], attachments: [attached] };
  const email = { from: "us@sender.test", subject: "Large", text: "Hello", ...large };
  const key = { "idempotency-key": "the same key" };
  const batchKey = { headers: { "idempotency-key": "the same key of a batch" } };
  const sendBatch = () => testbed.call("EmailService/SendEmailBatch", { emails: [email, email] }, batchKey);
  const first = await testbed.send(large, key);
  const firstBatch = await sendBatch();
  const before = await objects();
  const requests = store.requests.length;

  assert.equal((await testbed.send({ ...large, from: "x@unknown.test" })).body.code, "failed_precondition");
  assert.equal((await testbed.send(large, key)).body.id, first.body.id);
  assert.equal((await testbed.send({ ...large, subject: "Other" }, key)).body.code, "already_exists");
  assert.deepEqual((await sendBatch()).body, firstBatch.body);
  const { sql } = testbed.database;
  await sql`update workspaces set quota = '{"emailsPerHour": 1}' where id = ${testbed.workspaceId}`;
  assert.equal((await testbed.send(large)).body.code, "resource_exhausted");
  const batch = await testbed.call("EmailService/SendEmailBatch", { emails: [email, email] });
  assert.equal(batch.body.code, "resource_exhausted");
  await sql`update workspaces set quota = '{}' where id = ${testbed.workspaceId}`;

  assert.deepEqual(
    store.requests.slice(requests).filter((one) => one.startsWith("PUT objects/")),
    [],
  );
  assert.deepEqual(await objects(), before);
});

test("when one upload of a batch fails, the objects of its other emails are recorded as unused", async () => {
  const { sql } = testbed.database;
  const before = await objects();
  let puts = 0;
  store.onRequest(({ method }) => {
    if (method === "PUT") store.mode(++puts === 1 ? { status: 413, code: "" } : "serve");
  });
  const email = { from: "us@sender.test", to: ["large@there.test"], subject: "Large", attachments: [attached] };
  const emails = [1, 2, 3].map((n) => ({ ...email, text: `Hello ${n}` }));
  const { body } = await testbed.call("EmailService/SendEmailBatch", { emails });
  store.onRequest(() => {});
  assert.equal(body.code, "unavailable");
  const added = (await objects()).filter((name) => !before.includes(name)).map((name) => name.split("/").at(-1)!);
  assert.equal(added.length, 2);
  const unused = await sql<{ id: string }[]>`select id from unused_objects where id = any(${added}::uuid[])`;
  assert.equal(unused.length, 2);
});

test("an email in object storage keeps its content when it gets another day, and loses it with that day", async () => {
  const at = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  const id = await accepted(testbed, { to: ["later@there.test"], attachments: [attached], scheduledAt: at(2) });
  await testbed.call("EmailService/UpdateEmail", { id, scheduledAt: at(5) });
  const [row] = await testbed.database.sql<{ day: string; same: boolean }[]>`
    select o.day::text as day, o.day = e.content_day as same from content_objects o join emails e on e.id = o.owner_id where e.id = ${id.slice(3)}`;
  assert.deepEqual(row, { day: at(5).slice(0, 10), same: true });
  assert.ok((await contentOf(id)).includes(attached.base64Content));
});
