/** A tenant with many unfinished requests: its excess is refused with the time to come back, and the calls of another tenant succeed. */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { type Neighbours, type RawCall, rawCall, requireRefusal, startNeighbours } from "../harness/neighbours.ts";
import { writeUntilClosed } from "../harness/raw.ts";
import { until } from "../harness/wait.ts";

const mib = 1024 * 1024;
const method = "EmailService/SendEmail";
const beginning = '{"body":"';
let all: Neighbours;
let open: RawCall[] = [];

before(async () => {
  all = await startNeighbours();
});
afterEach(async () => {
  for (const { socket } of open) socket.destroy();
  open = [];
  await until("the memory of the bodies to be released", async () => (await all.inUse("body_bytes")) === 0);
  await until("the calls to end", async () => (await all.inUse("calls")) === 0);
});
after(async () => await all.stop());

/** A request of the attacker that lacks the rest of its body. */
function unfinished(contentLength: number, more: { chunked?: boolean; key?: string } = {}): RawCall {
  const { key } = all.attacker;
  const call = rawCall({ port: all.program.ports.http, method, key, body: beginning, contentLength, ...more });
  open.push(call);
  return call;
}

test("70 unfinished bodies of 1 MB use up the share of their workspace, and another tenant's email is accepted", async () => {
  const key = await all.newKey(all.attacker);
  const calls = Array.from({ length: 70 }, (_, i) => unfinished(1_000_000, i % 2 ? { key } : {}));
  const refused = () => calls.filter(({ received }) => received() !== "");
  await until("refusals", () => refused().length >= 30);
  for (const { received } of refused()) requireRefusal(received());
  assert.ok((await all.inUse("body_bytes")) <= 32 * mib);
  await all.ordinaryCalls();
});

test("1,000 slow bodies that are too small to count take nothing from another tenant", async () => {
  for (let i = 0; i < 1000; i++) unfinished(10_000);
  await until("the calls", async () => (await all.inUse("calls")) >= 1000);
  await all.ordinaryCalls();
});

for (const chunked of [false, true])
  test(`a workspace alone may send a body of 60 MiB ${chunked ? "in chunks" : "with a declared length"}`, async () => {
    const bytes = 60 * mib;
    const call = unfinished(bytes, { chunked });
    const chunk = Buffer.alloc(mib, "x");
    const framed = Buffer.concat([Buffer.from(`${mib.toString(16)}\r\n`), chunk, Buffer.from("\r\n")]);
    await writeUntilClosed(call.socket, chunked ? framed : chunk, chunked ? 60 * framed.length : bytes - mib);
    call.socket.write(chunked ? "0\r\n\r\n" : Buffer.alloc(mib - beginning.length, "x"));
    await until("an answer", () => call.received().includes("\r\n\r\n"));
    // The body was read to its end, where its JSON is incomplete.
    assert.match(call.received(), /^HTTP\/1\.1 400 [\s\S]*Unterminated string in JSON/);
  });

test("a body that stops arriving is refused and gives its memory back", async () => {
  const calls = [unfinished(500_000), unfinished(500_000, { chunked: true })];
  await until("their memory", async () => (await all.inUse("body_bytes")) > 0);
  await until("the refusals", () => calls.every(({ received }) => received().endsWith("}")));
  for (const { received } of calls) {
    requireRefusal(received());
    assert.match(received(), /KiB per second/);
  }
});
