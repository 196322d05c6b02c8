/** All supported clients, protocols and forms receive the same events and the same error. */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { needs } from "../harness/foreign.ts";
import { newDataDir } from "../harness/program.ts";
import { buildImage } from "../harness/rpc-clients.ts";
import { streamClients } from "../harness/stream-clients.ts";
import { type StreamTestbed, startStreamTestbed } from "../harness/streams.ts";
import { until } from "../harness/wait.ts";

const directory = await newDataDir();
const image = join(directory, "contract.binpb");
let testbed: StreamTestbed;
let expected: unknown[];

before(async () => {
  buildImage(image);
  testbed = await startStreamTestbed();
  await testbed.send("delivered", { metadata: { order: "7", Zoë: "🔑 <b>" } });
  await testbed.send("bounced");
  await testbed.send("replied");
  await until("the reply", async () => (await testbed.table()).some(({ type }) => type === "email.replied"));
  const { body } = await testbed.program.call("EmailService/ListEvents", { pageSize: 500 });
  expected = (body.data as { cursor: string; event: { id: string; type: string } }[]).map(({ cursor, event }) => [
    ...[cursor, event.id, event.type],
  ]);
  assert.ok(expected.length >= 4);
});
after(async () => {
  await testbed?.stop();
  await rm(directory, { recursive: true, force: true });
});

let reference: unknown;
for (const client of streamClients(image)) {
  test(`${client.name} reads all events, and gets an error for an unknown cursor`, {
    skip: client.needs && needs(client.needs),
  }, async () => {
    const { url, key } = testbed.program;
    const all = await client.read({ url, key, request: { cursor: "0", follow: false } });
    assert.equal(all.code, "ok", all.message);
    const [first, ...rest] = all.messages as { cursor: string; event?: { id: string; type: string } }[];
    assert.deepEqual(first, { cursor: "0" });
    assert.deepEqual(
      rest.map(({ cursor, event }) => [cursor, event?.id, event?.type]),
      expected,
    );
    reference ??= all.messages;
    assert.deepEqual(all.messages, reference, "all fields are equal");

    const refused = await client.read({ url, key, request: { cursor: "999" } });
    assert.deepEqual([refused.code, refused.messages], ["out_of_range", []]);
    assert.match(refused.message, /the oldest event is 1, the newest \d+/);
  });
}
