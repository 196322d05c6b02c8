/** Every client that people use, over every protocol and form, sees the same events, and the same error. */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { needs } from "../harness/foreign.ts";
import { newDataDir } from "../harness/program.ts";
import { buildImage } from "../harness/rpc-clients.ts";
import { streamClients } from "../harness/stream-clients.ts";
import { type StreamWorld, startStreamWorld } from "../harness/streams.ts";
import { until } from "../harness/wait.ts";

const place = await newDataDir();
const image = join(place, "contract.binpb");
let world: StreamWorld;
let expected: unknown[];

before(async () => {
  buildImage(image);
  world = await startStreamWorld();
  await world.send("delivered", { metadata: { order: "7", Zoë: "🔑 <b>" } });
  await world.send("bounced");
  await world.send("replied");
  await until("the reply", async () => (await world.table()).some(({ type }) => type === "email.replied"));
  const { body } = await world.program.call("EmailService/ListEvents", { pageSize: 500 });
  expected = (body.data as { cursor: string; event: { id: string; type: string } }[]).map(({ cursor, event }) => [
    ...[cursor, event.id, event.type],
  ]);
  assert.ok(expected.length >= 4);
});
after(async () => {
  await world?.stop();
  await rm(place, { recursive: true, force: true });
});

let reference: unknown;
for (const client of streamClients(image)) {
  test(client.name, { skip: client.needs && needs(client.needs) }, async () => {
    const { url, key } = world.program;
    const whole = await client.read({ url, key, request: { cursor: "0", follow: false } });
    assert.equal(whole.code, "ok", whole.message);
    const [first, ...rest] = whole.messages as { cursor: string; event?: { id: string; type: string } }[];
    assert.deepEqual(first, { cursor: "0" });
    assert.deepEqual(
      rest.map(({ cursor, event }) => [cursor, event?.id, event?.type]),
      expected,
    );
    reference ??= whole.messages;
    assert.deepEqual(whole.messages, reference, "to the last field");

    const refused = await client.read({ url, key, request: { cursor: "999" } });
    assert.deepEqual([refused.code, refused.messages], ["out_of_range", []]);
    assert.match(refused.message, /the oldest event is 1, the newest \d+/);
  });
}
