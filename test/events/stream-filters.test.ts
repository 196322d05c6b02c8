/** Filters by type and by email, for stored and for new events. Cursors also advance past events that do not match. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { addEvents, type StreamTestbed, startStreamTestbed } from "../harness/streams.ts";

let testbed: StreamTestbed;
let delivered: string;
let bounced: string;
before(async () => {
  testbed = await startStreamTestbed({ POSTHORN_STREAM_HEARTBEAT_MS: "200" });
  await addEvents(testbed.database.sql, testbed.workspaceId, 250);
  delivered = await testbed.send("delivered");
  bounced = await testbed.send("bounced");
  await addEvents(testbed.database.sql, testbed.workspaceId, 250);
});
after(async () => await testbed?.stop());

const cases = [
  {
    what: "types",
    filter: () => ({ types: ["email.delivered", "email.bounced"] }),
    emails: () => [delivered, bounced],
  },
  { what: "an email", filter: () => ({ emailId: bounced }), emails: () => [bounced] },
  {
    what: "type and email",
    filter: () => ({ emailId: delivered, types: ["email.delivered"] }),
    emails: () => [delivered],
  },
  {
    what: "type and email without a match",
    filter: () => ({ emailId: delivered, types: ["email.bounced"] }),
    emails: () => [],
  },
];

for (const { what, filter, emails } of cases) {
  test(`a stream is filtered by ${what}`, async () => {
    const { events, end } = await testbed.read({ ...filter(), follow: false });
    assert.equal(end.code, "ok");
    assert.deepEqual(
      events.map(({ event }) => event.emailId),
      emails(),
    );
    const { body } = await testbed.program.call("EmailService/ListEvents", filter());
    const listed = body as { data: { cursor: string }[]; nextCursor: string; hasMore: boolean };
    assert.deepEqual(
      listed.data.map(({ cursor }) => cursor),
      events.map(({ cursor }) => cursor),
      "ListEvents returns the same events",
    );
    const last = (await testbed.table()).at(-1)!.number;
    assert.deepEqual([listed.nextCursor, listed.hasMore], [last, false], "ListEvents has searched the whole log");
  });
}

test("new events are filtered, too, and the cursor of a heartbeat advances past the others", async () => {
  const stream = await testbed.open({ cursor: "latest", types: ["email.bounced"] });
  await stream.until("the first message", ({ messages }) => messages.length > 0);
  await testbed.send("delivered");
  const bouncedId = await testbed.send("bounced");
  await testbed.send("delivered");
  const last = (await testbed.table()).at(-1)!.number;
  await stream.until("a cursor at the tail", ({ messages }) => messages.at(-1)!.cursor === last);
  stream.leave();
  assert.deepEqual(
    stream.events().map(({ event }) => [event.type, event.emailId]),
    [["email.bounced", bouncedId]],
  );
});

test("an unknown email and an unknown event type are rejected", async () => {
  const unknownEmail = await testbed.read({ emailId: "em_0198f6a2-0000-7000-8000-000000000000" });
  assert.deepEqual([unknownEmail.end.code, unknownEmail.end.status], ["not_found", 404]);
  const unknownType = await testbed.read({ types: ["email.delivered", "email.opened"] });
  assert.deepEqual([unknownType.end.code, unknownType.end.status], ["invalid_argument", 400]);
  assert.match(unknownType.end.message, /^types\[1\]: is not an event type/);
});
