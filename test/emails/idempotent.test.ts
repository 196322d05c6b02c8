import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { violationsOf } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed();
});
after(async () => await testbed.stop());

const withKey = (key: string) => ({ "idempotency-key": key });
async function countEmails(): Promise<number> {
  const [row] = await testbed.database.sql<{ n: number }[]>`select count(*)::int as n from emails`;
  return row!.n;
}

test("50 equal concurrent calls create one email and get 50 equal responses", async () => {
  const request = {
    to: ["one@there.test"],
    metadata: { b: "2", a: "1" },
    attachments: [{ filename: "f", base64Content: "AA==" }],
  };
  const responses = await Promise.all(Array.from({ length: 50 }, () => testbed.send(request, withKey("fifty"))));
  const first = responses[0]!.body;
  assert.equal(first.status, "EMAIL_STATUS_SENT", JSON.stringify(first));
  for (const { status, body } of responses) {
    assert.equal(status, 200);
    assert.deepEqual(body, first);
  }
  assert.equal(await countEmails(), 1);
  assert.equal(testbed.sink.received("one@there.test").length, 1);
  const delivered = (await testbed.events()).filter(({ event }) => event.type === "email.delivered");
  assert.equal(delivered.length, 1);
  // The order of a map's entries does not matter.
  const again = await testbed.send({ ...request, metadata: { a: "1", b: "2" } }, withKey("fifty"));
  assert.deepEqual(again.body, first);
});

test("the same key with a different request is rejected, whichever field differs", async () => {
  const request = { to: ["other@there.test"], body: "one", attachments: [{ filename: "f", base64Content: "AA==" }] };
  const { status } = await testbed.send(request, withKey("other"));
  assert.equal(status, 200);
  const changes = [
    { body: "two" },
    { to: ["other@there.test", "b@there.test"] },
    { subject: "" },
    { metadata: { a: "1" } },
    { attachments: [{ filename: "f", base64Content: "AQ==" }] },
    { attachments: [{ filename: "g", base64Content: "AA==" }] },
    { requireTls: true },
  ];
  const before = await countEmails();
  for (const change of changes) {
    const { status, body } = await testbed.send({ ...request, ...change }, withKey("other"));
    assert.equal(status, 409, JSON.stringify(change));
    assert.equal(body.code, "already_exists");
  }
  assert.equal(await countEmails(), before);
});

test("two different requests under one key, 25 calls each: one request wins, the other is rejected 25 times", async () => {
  const responses = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      testbed.send({ to: ["race@there.test"], body: i % 2 ? "odd" : "even" }, withKey("race")),
    ),
  );
  const ids = new Set(responses.flatMap(({ body }) => (body.id ? [body.id] : [])));
  assert.equal(ids.size, 1);
  const refused = responses.filter(({ body }) => body.code === "already_exists");
  assert.equal(refused.length, 25);
});

test("the first response is returned again even if the request would now be rejected", async () => {
  const { sql } = testbed.database;
  const request = { to: ["moved@there.test"], scheduledAt: new Date(Date.now() - 299_000).toISOString() };
  const first = await testbed.send(request, withKey("moved"));
  assert.equal(first.status, 200);
  // The domain can no longer send, but it could when the request was accepted.
  await sql`update domains set can_send = false`;
  const domainGone = await testbed.send(request, withKey("moved"));
  await sql`update domains set can_send = true`;
  assert.equal(domainGone.body.id, first.body.id, JSON.stringify(domainGone.body));
  const refusedNow = { ...request, scheduledAt: new Date(Date.now() - 600_000).toISOString() };
  assert.equal((await testbed.send(refusedNow, withKey("moved"))).body.code, "already_exists");
  assert.equal((await testbed.send(refusedNow, withKey("unused"))).body.code, "invalid_argument");
});

test("after 24 hours a key can be used for another request", async () => {
  const first = await testbed.send({ body: "one" }, withKey("day"));
  await testbed.database
    .sql`update idempotency set expires_at = service_time() - interval '1 second' where key = 'day'`;
  const second = await testbed.send({ body: "two" }, withKey("day"));
  assert.equal(second.status, 200);
  assert.notEqual(second.body.id, first.body.id);
  assert.deepEqual((await testbed.send({ body: "two" }, withKey("day"))).body, second.body);
});

test("a rejected request does not use up its key", async () => {
  assert.equal((await testbed.send({ to: [] }, withKey("mended"))).status, 400);
  assert.equal((await testbed.send({ to: ["mended@there.test"] }, withKey("mended"))).status, 200);
});

test("a key has at most 256 printable characters", async () => {
  assert.equal((await testbed.send({}, withKey("k".repeat(256)))).status, 200);
  const long = await testbed.send({}, withKey("k".repeat(257)));
  assert.equal(long.body.code, "invalid_argument");
  assert.match(violationsOf(long.body)[0]!.description, /256.*257/);
});

test("idempotency keys also work for an email of several MiB", async () => {
  const attachments = [{ filename: "big.bin", base64Content: Buffer.alloc(3_000_000, 7).toString("base64") }];
  const send = () => testbed.send({ to: ["big@there.test"], attachments, async: true }, withKey("big"));
  const responses = await Promise.all(Array.from({ length: 5 }, send));
  assert.equal(new Set(responses.map(({ body }) => body.id)).size, 1);
});
