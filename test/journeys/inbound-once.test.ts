import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { bring, type InboundWorld, startInboundWorld, told } from "../harness/inbound.ts";
import { lockTable, untilBlocked } from "../harness/kill-points.ts";
import { until } from "../harness/wait.ts";

let world: InboundWorld;
before(async () => {
  world = await startInboundWorld();
});
after(async () => await world.stop());

const letter = (subject: string) => `From: Ann <ann@there.test>
To: us@sender.test
Subject: ${subject}
Message-ID: <${subject.replaceAll(" ", ".")}@there.test>

Hello
`;

test("the same message over many connections at once is one message and one event", async () => {
  const raw = letter("sent eight times");
  const replies = await Promise.all(Array.from({ length: 8 }, () => bring(world, { to: "us@sender.test", raw })));
  for (const reply of replies) assert.match(reply, /^250/);
  const events = await world.events();
  assert.equal(told(events, "email.received").filter(({ subject }) => subject === "sent eight times").length, 1);
});

test("a recipient that was left out the first time gets it the second time, alone", async () => {
  const raw = letter("to one and then two");
  await bring(world, { to: ["one@sender.test"], raw });
  await bring(world, { to: ["one@sender.test", "two@sender.test"], raw });
  const received = told(await world.events(), "email.received").filter(
    ({ subject }) => subject === "to one and then two",
  );
  assert.deepEqual(
    received.map(({ to }) => to),
    [["one@sender.test"], ["two@sender.test"]],
  );
});

test("what cannot be stored is put off, not lost: nothing is acknowledged before its commit", async () => {
  const raw = letter("at a bad moment");
  await world.database.sql.unsafe("alter table inbound_contents rename to inbound_contents_away");
  await assert.rejects(bring(world, { to: "us@sender.test", raw }), /451 4\.3\.0/);
  await world.database.sql.unsafe("alter table inbound_contents_away rename to inbound_contents");
  assert.match(await bring(world, { to: "us@sender.test", raw }), /^250/);
  const received = told(await world.events(), "email.received").filter(({ subject }) => subject === "at a bad moment");
  assert.equal(received.length, 1);
});

test("killed between the commit and its answer: the sender tries again, and there is one event", async () => {
  const raw = letter("around a kill");
  const lock = await lockTable(world, "inbound_messages", "share");
  const first = bring(world, { to: "us@sender.test", raw }).catch((error: Error) => error);
  await untilBlocked(world, "inbound_messages");
  await world.program.kill();
  // The database finishes what it was told; the one who told it is no more.
  await lock.release();
  const answer = await first;
  assert.ok(answer instanceof Error, "the sender got no answer");
  await until("the commit without its caller", async () => {
    const rows = await world.database.sql`select 1 from inbound_messages where subject = 'around a kill'`;
    return rows.length > 0;
  });
  const node = await world.startNode();
  assert.match(await bring(world, { to: "us@sender.test", raw, port: node.ports.smtp }), /^250/);
  const received = told(await world.events(), "email.received").filter(({ subject }) => subject === "around a kill");
  assert.equal(received.length, 1);
});
