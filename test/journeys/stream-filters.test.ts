/** Filters by type and by email: the same for what is stored and for what happens; cursors move past what is not wanted. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { addEvents, type StreamWorld, startStreamWorld } from "../harness/streams.ts";

let world: StreamWorld;
let delivered: string;
let bounced: string;
before(async () => {
  world = await startStreamWorld({ POSTHORN_STREAM_HEARTBEAT_MS: "200" });
  await addEvents(world.database.sql, world.workspaceId, 250);
  delivered = await world.send("delivered");
  bounced = await world.send("bounced");
  await addEvents(world.database.sql, world.workspaceId, 250);
});
after(async () => await world?.stop());

const cases = [
  {
    what: "types",
    filter: () => ({ types: ["email.delivered", "email.bounced"] }),
    emails: () => [delivered, bounced],
  },
  { what: "an email", filter: () => ({ emailId: bounced }), emails: () => [bounced] },
  { what: "both", filter: () => ({ emailId: delivered, types: ["email.delivered"] }), emails: () => [delivered] },
  {
    what: "both, with nothing in common",
    filter: () => ({ emailId: delivered, types: ["email.bounced"] }),
    emails: () => [],
  },
];

for (const { what, filter, emails } of cases) {
  test(`by ${what}`, async () => {
    const { events, end } = await world.read({ ...filter(), follow: false });
    assert.equal(end.code, "ok");
    assert.deepEqual(
      events.map(({ event }) => event.emailId),
      emails(),
    );
    const { body } = await world.program.call("EmailService/ListEvents", filter());
    const listed = body as { data: { cursor: string }[]; nextCursor: string; hasMore: boolean };
    assert.deepEqual(
      listed.data.map(({ cursor }) => cursor),
      events.map(({ cursor }) => cursor),
      "ListEvents shows the same",
    );
    const last = (await world.table()).at(-1)!.number;
    assert.deepEqual([listed.nextCursor, listed.hasMore], [last, false], "and has looked at all there is");
  });
}

test("what happens while the stream is open is filtered too, and a heartbeat's cursor has moved past the rest", async () => {
  const stream = await world.open({ cursor: "latest", types: ["email.bounced"] });
  await stream.until("the first message", ({ messages }) => messages.length > 0);
  await world.send("delivered");
  const late = await world.send("bounced");
  await world.send("delivered");
  const last = (await world.table()).at(-1)!.number;
  await stream.until("a cursor at the tail", ({ messages }) => messages.at(-1)!.cursor === last);
  stream.leave();
  assert.deepEqual(
    stream.events().map(({ event }) => [event.type, event.emailId]),
    [["email.bounced", late]],
  );
});

test("an email that is not there, and a type that is none, are refused", async () => {
  const nobody = await world.read({ emailId: "em_0198f6a2-0000-7000-8000-000000000000" });
  assert.deepEqual([nobody.end.code, nobody.end.status], ["not_found", 404]);
  const noType = await world.read({ types: ["email.delivered", "email.opened"] });
  assert.deepEqual([noType.end.code, noType.end.status], ["invalid_argument", 400]);
  assert.match(noType.end.message, /^types\[1\]: is no event type/);
});
