/** The connection limit of a site applies to all nodes together. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { untilSettled } from "../harness/ledger.ts";
import { accepted } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed({ env: { POSTHORN_SITE_LIMITS: "there.test=5" } });
  await testbed.startNode();
});
after(async () => await testbed?.stop());

async function sendMany(name: string, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, i) => accepted(testbed, { to: [`${name}${i}@there.test`], async: true })),
  );
  await untilSettled(testbed);
}

test("two nodes together keep within the connection limit of a receiver", async () => {
  await until("both nodes to be registered", async () => {
    const rows = await testbed.database.sql<{ pid: number }[]>`select distinct pid from workers`;
    return rows.length === 2;
  });
  // Each node reads the list of workers once a second. When these emails are settled, both nodes have read it.
  await sendMany("warm", 20);
  await until("idle connections to close", () => testbed.sink.connections.open === 0);
  testbed.sink.connections.peak = 0;
  const before = testbed.sink.accepted;
  await sendMany("pair", 80);
  assert.equal(testbed.sink.accepted, before + 80);
  const { peak } = testbed.sink.connections;
  assert.ok(peak <= 5, `${peak} connections of two nodes`);
});
