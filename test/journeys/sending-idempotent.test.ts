import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { violationsOf } from "../harness/sending.ts";
import { startWorld, type World } from "../harness/world.ts";

let world: World;
before(async () => {
  world = await startWorld();
});
after(async () => await world.stop());

const withKey = (key: string) => ({ "idempotency-key": key });
async function emailsStored(): Promise<number> {
  const [row] = await world.database.sql<{ n: number }[]>`select count(*)::int as n from emails`;
  return row!.n;
}

test("50 equal calls at once make one email and 50 equal answers", async () => {
  const request = {
    to: ["one@there.test"],
    metadata: { b: "2", a: "1" },
    attachments: [{ filename: "f", base64Content: "AA==" }],
  };
  const answers = await Promise.all(Array.from({ length: 50 }, () => world.send(request, withKey("fifty"))));
  const first = answers[0]!.body;
  assert.equal(first.status, "EMAIL_STATUS_SENT", JSON.stringify(first));
  for (const { status, body } of answers) {
    assert.equal(status, 200);
    assert.deepEqual(body, first);
  }
  assert.equal(await emailsStored(), 1);
  assert.equal(world.sink.received("one@there.test").length, 1);
  const delivered = (await world.events()).filter(({ event }) => event.type === "email.delivered");
  assert.equal(delivered.length, 1);
  // The order of a map's entries means nothing.
  const again = await world.send({ ...request, metadata: { a: "1", b: "2" } }, withKey("fifty"));
  assert.deepEqual(again.body, first);
});

test("the same key with another request is refused, whatever differs", async () => {
  const request = { to: ["other@there.test"], body: "one", attachments: [{ filename: "f", base64Content: "AA==" }] };
  const { status } = await world.send(request, withKey("other"));
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
  const before = await emailsStored();
  for (const change of changes) {
    const { status, body } = await world.send({ ...request, ...change }, withKey("other"));
    assert.equal(status, 409, JSON.stringify(change));
    assert.equal(body.code, "already_exists");
  }
  assert.equal(await emailsStored(), before);
});

test("25 calls each with two requests under one key: one request wins for all", async () => {
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      world.send({ to: ["race@there.test"], body: i % 2 ? "odd" : "even" }, withKey("race")),
    ),
  );
  const ids = new Set(answers.flatMap(({ body }) => (body.id ? [body.id] : [])));
  assert.equal(ids.size, 1);
  const refused = answers.filter(({ body }) => body.code === "already_exists");
  assert.equal(refused.length, 25);
});

test("the first answer is given again after the world has moved on", async () => {
  const { sql } = world.database;
  const request = { to: ["moved@there.test"], scheduledAt: new Date(Date.now() - 299_000).toISOString() };
  const first = await world.send(request, withKey("moved"));
  assert.equal(first.status, 200);
  // What would refuse the request now did not when it was accepted.
  await sql`update domains set can_send = false`;
  const domainGone = await world.send(request, withKey("moved"));
  await sql`update domains set can_send = true`;
  assert.equal(domainGone.body.id, first.body.id, JSON.stringify(domainGone.body));
  const refusedNow = { ...request, scheduledAt: new Date(Date.now() - 600_000).toISOString() };
  assert.equal((await world.send(refusedNow, withKey("moved"))).body.code, "already_exists");
  assert.equal((await world.send(refusedNow, withKey("unused"))).body.code, "invalid_argument");
});

test("after 24 hours a key is free for another request", async () => {
  const first = await world.send({ body: "one" }, withKey("day"));
  await world.database.sql`update idempotency set expires_at = now() - interval '1 second' where key = 'day'`;
  const second = await world.send({ body: "two" }, withKey("day"));
  assert.equal(second.status, 200);
  assert.notEqual(second.body.id, first.body.id);
  assert.deepEqual((await world.send({ body: "two" }, withKey("day"))).body, second.body);
});

test("a refused request does not use its key up", async () => {
  assert.equal((await world.send({ to: [] }, withKey("mended"))).status, 400);
  assert.equal((await world.send({ to: ["mended@there.test"] }, withKey("mended"))).status, 200);
});

test("a key is up to 256 printable characters", async () => {
  assert.equal((await world.send({}, withKey("k".repeat(256)))).status, 200);
  const long = await world.send({}, withKey("k".repeat(257)));
  assert.equal(long.body.code, "invalid_argument");
  assert.match(violationsOf(long.body)[0]!.description, /256.*257/);
});

test("an email of several MiB is idempotent too", async () => {
  const attachments = [{ filename: "big.bin", base64Content: Buffer.alloc(3_000_000, 7).toString("base64") }];
  const send = () => world.send({ to: ["big@there.test"], attachments, async: true }, withKey("big"));
  const answers = await Promise.all(Array.from({ length: 5 }, send));
  assert.equal(new Set(answers.map(({ body }) => body.id)).size, 1);
});
