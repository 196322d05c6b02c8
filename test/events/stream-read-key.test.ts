/** A read key receives every event, without the text of inbound mail. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type StreamForm, type StreamTestbed, startStreamTestbed } from "../harness/streams.ts";
import { until } from "../harness/wait.ts";
import { createKey } from "../harness/workspaces.ts";

let testbed: StreamTestbed;
before(async () => {
  testbed = await startStreamTestbed();
  await testbed.send("replied");
  await until("the reply", async () => (await testbed.table()).some(({ type }) => type === "email.replied"));
});
after(async () => await testbed?.stop());

test("a full key sees the text of a reply, a read key everything else, and a send key nothing", async () => {
  const keys = {
    full: testbed.program.key,
    read: (await createKey(testbed.program, { permission: "READ" })).secret,
    send: (await createKey(testbed.program, { permission: "SEND" })).secret,
  };
  for (const form of ["lines", "sse", "connect"] as StreamForm[]) {
    const full = await testbed.read({ follow: false }, { form, key: keys.full });
    const read = await testbed.read({ follow: false }, { form, key: keys.read });
    const replyOf = (events: typeof full.events) =>
      events.find(({ event }) => event.type === "email.replied")!.event.replied as Record<string, string>;
    assert.notEqual(replyOf(full.events).body, "");
    const { body, newText, html, ...rest } = replyOf(read.events);
    assert.deepEqual([body, newText, html], ["", "", ""]);
    const { body: _, newText: __, html: ___, ...fullRest } = replyOf(full.events);
    assert.deepEqual(rest, fullRest);
    assert.deepEqual(
      read.events.map(({ cursor }) => cursor),
      full.events.map(({ cursor }) => cursor),
    );
    const send = await testbed.read({ follow: false }, { form, key: keys.send });
    assert.deepEqual([send.end.code, send.messages], ["permission_denied", []]);
  }
});

test("a key with the scope events sees the text of a reply only with the scope inbound", async () => {
  const create = async (...scopes: string[]) => {
    const { status, body } = await testbed.program.call("KeyService/CreateKey", { name: "scoped", scopes });
    assert.equal(status, 200, JSON.stringify(body));
    return body.secret as string;
  };
  const bodyOf = (events: { event: Record<string, unknown> }[]) =>
    (events.find(({ event }) => event.type === "email.replied")!.event.replied as { body: string }).body;
  const [plain, both] = [await create("KEY_SCOPE_EVENTS"), await create("KEY_SCOPE_EVENTS", "KEY_SCOPE_INBOUND")];
  for (const [key, isShown] of [
    [plain, false],
    [both, true],
  ] as const) {
    for (const form of ["lines", "connect"] as StreamForm[]) {
      const { events } = await testbed.read({ follow: false }, { form, key });
      assert.equal(bodyOf(events) !== "", isShown, form);
    }
    const listed = await testbed.program.call("EmailService/ListEvents", {}, { key });
    assert.equal(bodyOf(listed.body.data as { event: Record<string, unknown> }[]) !== "", isShown, "ListEvents");
  }
});
