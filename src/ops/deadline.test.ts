import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { test } from "node:test";
import { setDeadline } from "./deadline.ts";

/** Blocks the event loop, as a machine without free CPU does. */
function stall(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

test("a reply that arrives while the process stalls is handled before the deadline expires", async (t) => {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  t.after(() => socket.close());
  await once(socket, "listening");
  const order: string[] = [];
  const expired = new Promise<void>((resolve) => {
    setDeadline(5, () => {
      order.push("deadline");
      resolve();
    });
  });
  socket.on("message", () => order.push("reply"));
  const sender = createSocket("udp4");
  t.after(() => sender.close());
  await new Promise((resolve) => sender.connect(socket.address().port, "127.0.0.1", () => resolve(undefined)));
  sender.send("answer");
  stall(50);
  await expired;
  assert.deepEqual(order, ["reply", "deadline"]);
});

test("a cleared deadline never expires", async () => {
  let expired = false;
  setDeadline(1, () => (expired = true)).clear();
  await new Promise<void>((resolve) => setDeadline(1, resolve));
  assert.equal(expired, false);
});
