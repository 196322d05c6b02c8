/** A key that may only read sees every event, but no text of inbound mail. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type StreamForm, type StreamWorld, startStreamWorld } from "../harness/streams.ts";
import { until } from "../harness/wait.ts";
import { createKey } from "../harness/workspaces.ts";

let world: StreamWorld;
before(async () => {
  world = await startStreamWorld();
  await world.send("replied");
  await until("the reply", async () => (await world.table()).some(({ type }) => type === "email.replied"));
});
after(async () => await world?.stop());

test("a full key sees the text of a reply, a read key all but that, and a send key nothing", async () => {
  const keys = {
    full: world.program.key,
    read: (await createKey(world.program, { permission: "READ" })).secret,
    send: (await createKey(world.program, { permission: "SEND" })).secret,
  };
  for (const form of ["lines", "sse", "connect"] as StreamForm[]) {
    const full = await world.read({ follow: false }, { form, key: keys.full });
    const read = await world.read({ follow: false }, { form, key: keys.read });
    const text = (events: typeof full.events) =>
      events.find(({ event }) => event.type === "email.replied")!.event.replied as Record<string, string>;
    assert.notEqual(text(full.events).body, "");
    const { body, newText, html, ...rest } = text(read.events);
    assert.deepEqual([body, newText, html], ["", "", ""]);
    const { body: _, newText: __, html: ___, ...fullRest } = text(full.events);
    assert.deepEqual(rest, fullRest);
    assert.deepEqual(
      read.events.map(({ cursor }) => cursor),
      full.events.map(({ cursor }) => cursor),
    );
    const send = await world.read({ follow: false }, { form, key: keys.send });
    assert.deepEqual([send.end.code, send.messages], ["permission_denied", []]);
  }
});
