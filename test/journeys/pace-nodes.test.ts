import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { untilSettled } from "../harness/ledger.ts";
import { accepted } from "../harness/sending.ts";
import { until } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

let world: World;
before(async () => {
  world = await startWorld({ env: { POSTHORN_SITE_LIMITS: "there.test=5" } });
  await world.startNode();
});
after(async () => await world?.stop());

async function sendMany(name: string, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, i) => accepted(world, { to: [`${name}${i}@there.test`], async: true })),
  );
  await untilSettled(world);
}

test("two nodes hold the limit of a receiver together", async () => {
  await until("both nodes to be known", async () => {
    const rows = await world.database.sql<{ pid: number }[]>`select distinct pid from workers`;
    return rows.length === 2;
  });
  // Who is there is looked at once a second: by the end of these, both have.
  await sendMany("warm", 20);
  await until("warm sessions to end", () => world.sink.connections.open === 0);
  world.sink.connections.peak = 0;
  const before = world.sink.accepted;
  await sendMany("pair", 80);
  assert.equal(world.sink.accepted, before + 80);
  const { peak } = world.sink.connections;
  assert.ok(peak <= 5, `${peak} connections of two nodes`);
});
