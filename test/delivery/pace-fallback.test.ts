/** POSTHORN_RELAY_FALLBACK and POSTHORN_SOURCE_IPS: which mail goes through the relay, and which source address sends the rest. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, untilEvent, untilFinished } from "../harness/sending.ts";
import { type Sink, startSink } from "../harness/sink.ts";
import { mailDomain, startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

let testbed: Testbed;
let relay: Sink;
before(async () => {
  relay = await startSink();
  testbed = await startTestbed({
    domains: ["there.test", "named.test"],
    env: {
      POSTHORN_RELAY_URL: `smtp://127.0.0.1:${relay.port}`,
      POSTHORN_RELAY_FALLBACK: "2,named.test",
      POSTHORN_SOURCE_IPS: "127.0.0.41=one.example.test,127.0.0.42=two.example.test*2",
    },
  });
  // No server listens at this address.
  mailDomain(testbed.dns, "gone.test", "127.0.0.78");
});
after(async () => {
  await testbed?.stop();
  await relay?.close();
});

test("mail for a listed site goes through the relay, and the event contains the reason", async () => {
  const id = await accepted(testbed, { to: ["a@named.test"], async: true });
  const [event] = await untilEvent(testbed, id, "email.sent");
  assert.equal(event!.payload.relayReason, "mail for named.test is configured to go through the relay");
  assert.equal(relay.received("a@named.test").length, 1);
  assert.equal(testbed.sink.received("a@named.test").length, 0);
});

test("after repeated failures of a site, all its queued mail goes through the relay", async () => {
  const ids = await Promise.all(
    Array.from({ length: 10 }, (_, i) => accepted(testbed, { to: [`g${i}@gone.test`], async: true })),
  );
  for (const id of ids) assert.equal((await untilFinished(testbed, id)).status, "EMAIL_STATUS_SENT");
  const [event] = (await untilEvent(testbed, ids[0]!, "email.sent")).slice(-1);
  assert.match(event!.payload.relayReason as string, /^gone\.test has failed (\d+ times in a row|repeatedly)$/);
  assert.equal(relay.deliveries.filter(({ recipients }) => recipients[0]!.endsWith("@gone.test")).length, 10);
});

test("other mail goes direct, always from the same source address per site, with the EHLO name of that address", async () => {
  for (const name of ["x", "y", "z"]) {
    const id = await accepted(testbed, { to: [`${name}@there.test`], async: true });
    const [event] = await untilEvent(testbed, id, "email.delivered");
    assert.equal(event!.payload.remoteMx, "mx.there.test");
  }
  const helos = new Set(testbed.sink.deliveries.map(({ helo }) => helo));
  assert.equal(helos.size, 1);
  assert.match([...helos][0]!, /^(one|two)\.example\.test$/);
  const counted = await until("the counters", async () => {
    const text = await (await fetch(`${testbed.program.opsUrl}/metrics`)).text();
    return /posthorn_source_messages_total\{address="127\.0\.0\.4[12]",result="accepted"\} 3/.exec(text);
  });
  assert.ok(counted);
});
