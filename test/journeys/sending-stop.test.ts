import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { RunningProgram } from "../harness/program.ts";
import { accepted, untilFinished, untilTold } from "../harness/sending.ts";
import { until } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

let world: World;
let node: RunningProgram;
before(async () => {
  world = await startWorld({ env: { POSTHORN_DRAIN_MS: "8000" } });
});
after(async () => await world?.stop());

test("a program that stops waits for the answer to what it has sent", async () => {
  world.sink.script = ({ verb }) => (verb === "dot" ? { reply: "250 2.0.0 Queued", dripMs: 20 } : undefined);
  const id = await accepted(world, { to: ["slow@there.test"], async: true });
  await world.sink.until((sink) => sink.deliveries.some(({ complete }) => complete));
  assert.equal(await world.program.stop(), 0);
  world.sink.script = () => undefined;
  node = await world.startNode();
  const told = await untilTold(world, id, "email.delivered");
  assert.deepEqual(
    told.map(({ type, payload }) => [type, payload.attempts, payload.possibleDuplicate]),
    [["email.delivered", 1, false]],
  );
  assert.equal(world.sink.received("slow@there.test").length, 1);
});

test("what has not reached the receiver within the limit is given back untouched, and goes out after the next start", async () => {
  world.sink.hangUp();
  world.sink.script = ({ verb }) => (verb === "connect" ? "silence" : undefined);
  const id = await accepted(world, { to: ["stuck@there.test"], async: true });
  await until("a lease on it", async () => (await leaseOf("stuck@there.test")) !== null);
  assert.equal(await node.stop(), 0);
  const [row] = await world.database
    .sql`select lease, attempts, in_doubt from recipients where address = 'stuck@there.test'`;
  assert.deepEqual(row, { lease: null, attempts: 0, in_doubt: false });
  world.sink.script = () => undefined;
  await world.startNode();
  await untilFinished(world, id);
  const [only, ...more] = await untilTold(world, id, "email.delivered");
  assert.deepEqual([only!.payload.attempts, only!.payload.possibleDuplicate, more], [1, false, []]);
});

async function leaseOf(address: string): Promise<string | null> {
  const [row] = await world.database.sql<
    { lease: string | null }[]
  >`select lease from recipients where address = ${address}`;
  return row!.lease;
}
