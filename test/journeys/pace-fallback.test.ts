import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, untilFinished, untilTold } from "../harness/sending.ts";
import { type Sink, startSink } from "../harness/sink.ts";
import { until } from "../harness/wait.ts";
import { mailDomain, startWorld, type World } from "../harness/world.ts";

let world: World;
let relay: Sink;
before(async () => {
  relay = await startSink();
  world = await startWorld({
    domains: ["there.test", "named.test"],
    env: {
      POSTHORN_RELAY_URL: `smtp://127.0.0.1:${relay.port}`,
      POSTHORN_RELAY_FALLBACK: "2,named.test",
      POSTHORN_SOURCE_IPS: "127.0.0.41=one.example.test,127.0.0.42=two.example.test*2",
    },
  });
  // Nobody listens there.
  mailDomain(world.dns, "gone.test", "127.0.0.78");
});
after(async () => {
  await world?.stop();
  await relay?.close();
});

test("mail for a named site goes by the relay, and the event says why", async () => {
  const id = await accepted(world, { to: ["a@named.test"], async: true });
  const [told] = await untilTold(world, id, "email.sent");
  assert.equal(told!.payload.relayReason, "mail for named.test goes by the relay");
  assert.equal(relay.received("a@named.test").length, 1);
  assert.equal(world.sink.received("a@named.test").length, 0);
});

test("a site that fails again and again is left to the relay, all that waits for it", async () => {
  const ids = await Promise.all(
    Array.from({ length: 10 }, (_, i) => accepted(world, { to: [`g${i}@gone.test`], async: true })),
  );
  for (const id of ids) assert.equal((await untilFinished(world, id)).status, "EMAIL_STATUS_SENT");
  const [told] = (await untilTold(world, ids[0]!, "email.sent")).slice(-1);
  assert.match(told!.payload.relayReason as string, /^gone\.test has failed (\d+ times in a row|again and again)$/);
  assert.equal(relay.deliveries.filter(({ recipients }) => recipients[0]!.endsWith("@gone.test")).length, 10);
});

test("the others go direct, from one of our addresses, always the same for a site, under its own name", async () => {
  for (const name of ["x", "y", "z"]) {
    const id = await accepted(world, { to: [`${name}@there.test`], async: true });
    const [told] = await untilTold(world, id, "email.delivered");
    assert.equal(told!.payload.remoteMx, "mx.there.test");
  }
  const helos = new Set(world.sink.deliveries.map(({ helo }) => helo));
  assert.equal(helos.size, 1);
  assert.match([...helos][0]!, /^(one|two)\.example\.test$/);
  const counted = await until("the counters", async () => {
    const text = await (await fetch(`${world.program.opsUrl}/metrics`)).text();
    return /posthorn_source_messages_total\{address="127\.0\.0\.4[12]",result="accepted"\} 3/.exec(text);
  });
  assert.ok(counted);
});
