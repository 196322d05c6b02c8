/** Inbound mail whose commit is stored while the connection to PostgreSQL drops: the sender hears 250, and the mail is stored once. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type DatabaseProxy, type Fate, startDatabaseProxy } from "../harness/database-proxy.ts";
import { deliverInbound, eventsOfType, type InboundTestbed, startInboundTestbed } from "../harness/inbound.ts";

let testbed: InboundTestbed;
let proxy: DatabaseProxy;
before(async () => {
  testbed = await startInboundTestbed({
    async reachDatabase(url) {
      proxy = await startDatabaseProxy(url);
      return proxy.url;
    },
  });
});
after(async () => {
  await testbed.stop();
  await proxy.close();
});

const messageOf = (subject: string) => `From: Ann <ann@there.test>
To: us@sender.test
Subject: ${subject}
Message-ID: <${subject}@there.test>

Hello
`;

/** The commit that follows the insert of this message meets its fate. */
function commitOf(subject: string, fate: Fate): () => boolean {
  const carriers = new WeakSet<object>();
  let met = false;
  proxy.fateOf((text, connection) => {
    if (text.includes(`"subject":"${subject}"`)) carriers.add(connection);
    if (met || !carriers.has(connection) || !text.includes("; commit\0")) return "forward";
    met = true;
    return fate;
  });
  return () => met;
}

const received = async (subject: string) =>
  eventsOfType(await testbed.events(), "email.received").filter((one) => one.subject === subject).length;

test("a stored message whose commit got no answer is acknowledged", async () => {
  const met = commitOf("stored", "lose answer");
  assert.match(await deliverInbound(testbed, { to: "us@sender.test", raw: messageOf("stored") }), /^250/);
  assert.equal(met(), true);
  assert.equal(await received("stored"), 1);
});

test("a message whose commit never arrived is deferred, and stored once when it comes again", async () => {
  const met = commitOf("lost", "lose");
  const again = { to: "us@sender.test", raw: messageOf("lost") };
  await assert.rejects(deliverInbound(testbed, again), /451/);
  assert.equal(met(), true);
  assert.equal(await received("lost"), 0);
  assert.match(await deliverInbound(testbed, again), /^250/);
  assert.equal(await received("lost"), 1);
});
