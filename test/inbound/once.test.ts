/** A message that a sender transmits several times is stored and reported once. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { deliverInbound, eventsOfType, type InboundTestbed, startInboundTestbed } from "../harness/inbound.ts";
import { holdCommits } from "../harness/kill-points.ts";
import { until } from "../harness/wait.ts";

let testbed: InboundTestbed;
before(async () => {
  testbed = await startInboundTestbed();
});
after(async () => await testbed.stop());

const messageOf = (subject: string) => `From: Ann <ann@there.test>
To: us@sender.test
Subject: ${subject}
Message-ID: <${subject.replaceAll(" ", ".")}@there.test>

Hello
`;

test("the same message over several concurrent connections gives one message and one event", async () => {
  const raw = messageOf("sent eight times");
  const replies = await Promise.all(
    Array.from({ length: 8 }, () => deliverInbound(testbed, { to: "us@sender.test", raw })),
  );
  for (const reply of replies) assert.match(reply, /^250/);
  const events = await testbed.events();
  assert.equal(
    eventsOfType(events, "email.received").filter(({ subject }) => subject === "sent eight times").length,
    1,
  );
});

test("when a message comes again with an added recipient, only the added recipient gets it", async () => {
  const raw = messageOf("to one and then two");
  await deliverInbound(testbed, { to: ["one@sender.test"], raw });
  await deliverInbound(testbed, { to: ["one@sender.test", "two@sender.test"], raw });
  const received = eventsOfType(await testbed.events(), "email.received").filter(
    ({ subject }) => subject === "to one and then two",
  );
  assert.deepEqual(
    received.map(({ to }) => to),
    [["one@sender.test"], ["two@sender.test"]],
  );
});

test("a message that cannot be stored gets a temporary error: nothing is acknowledged before its commit", async () => {
  const raw = messageOf("at a bad moment");
  await testbed.database.sql.unsafe("alter table inbound_contents rename to inbound_contents_away");
  await assert.rejects(deliverInbound(testbed, { to: "us@sender.test", raw }), /451 4\.3\.0/);
  await testbed.database.sql.unsafe("alter table inbound_contents_away rename to inbound_contents");
  assert.match(await deliverInbound(testbed, { to: "us@sender.test", raw }), /^250/);
  const received = eventsOfType(await testbed.events(), "email.received").filter(
    ({ subject }) => subject === "at a bad moment",
  );
  assert.equal(received.length, 1);
});

test("after a kill between the commit and the reply, the sender retries, and there is one event", async () => {
  const raw = messageOf("around a kill");
  const commits = await holdCommits(testbed);
  const first = deliverInbound(testbed, { to: "us@sender.test", raw }).catch((error: Error) => error);
  await commits.untilBlocked("inbound_messages");
  await testbed.program.kill();
  // PostgreSQL completes the commit, although the program that sent it is gone.
  await commits.release();
  const reply = await first;
  assert.ok(reply instanceof Error, "the sender got no reply");
  await until("the commit", async () => {
    const rows = await testbed.database.sql`select 1 from inbound_messages where subject = 'around a kill'`;
    return rows.length > 0;
  });
  const node = await testbed.startNode();
  assert.match(await deliverInbound(testbed, { to: "us@sender.test", raw, port: node.ports.smtp }), /^250/);
  const received = eventsOfType(await testbed.events(), "email.received").filter(
    ({ subject }) => subject === "around a kill",
  );
  assert.equal(received.length, 1);
});
