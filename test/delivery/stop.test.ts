import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { RunningProgram } from "../harness/program.ts";
import { accepted, untilEvent, untilFinished } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

let testbed: Testbed;
let node: RunningProgram;
before(async () => {
  testbed = await startTestbed({ env: { POSTHORN_DRAIN_MS: "8000" } });
});
after(async () => await testbed?.stop());

test("on shutdown the program waits for the reply to a message that it has sent", async () => {
  testbed.sink.script = ({ verb }) => (verb === "dot" ? { reply: "250 2.0.0 Queued", dripMs: 20 } : undefined);
  const id = await accepted(testbed, { to: ["slow@there.test"], async: true });
  await testbed.sink.until((sink) => sink.deliveries.some(({ complete }) => complete));
  assert.equal(await testbed.program.stop(), 0);
  testbed.sink.script = () => undefined;
  node = await testbed.startNode();
  const events = await untilEvent(testbed, id, "email.delivered");
  assert.deepEqual(
    events.map(({ type, payload }) => [type, payload.attempts, payload.possibleDuplicate]),
    [["email.delivered", 1, false]],
  );
  assert.equal(testbed.sink.received("slow@there.test").length, 1);
});

test("a recipient that is not delivered within the drain time is released unchanged, and sent after the next start", async () => {
  testbed.sink.hangUp();
  testbed.sink.script = ({ verb }) => (verb === "connect" ? "silence" : undefined);
  const id = await accepted(testbed, { to: ["stuck@there.test"], async: true });
  await until("the recipient to be leased", async () => (await leaseOf("stuck@there.test")) !== null);
  assert.equal(await node.stop(), 0);
  const [row] = await testbed.database
    .sql`select lease, attempts, in_doubt from recipients where address = 'stuck@there.test'`;
  assert.deepEqual(row, { lease: null, attempts: 0, in_doubt: false });
  testbed.sink.script = () => undefined;
  await testbed.startNode();
  await untilFinished(testbed, id);
  const [only, ...more] = await untilEvent(testbed, id, "email.delivered");
  assert.deepEqual([only!.payload.attempts, only!.payload.possibleDuplicate, more], [1, false, []]);
});

async function leaseOf(address: string): Promise<string | null> {
  const [row] = await testbed.database.sql<
    { lease: string | null }[]
  >`select lease from recipients where address = ${address}`;
  return row!.lease;
}
