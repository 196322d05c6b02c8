/** A tenant that requests large content and does not read it: its memory is bounded, its further requests are refused with the time to come
 * back, and the calls of another tenant succeed. */
import assert from "node:assert/strict";
import { connect as connect2 } from "node:http2";
import { after, before, test } from "node:test";
import {
  emailOf,
  type Neighbours,
  type RawCall,
  rawCall,
  requireOk,
  requireRefusal,
  startNeighbours,
} from "../harness/neighbours.ts";
import { memoryMiB } from "../harness/process-stats.ts";
import { until } from "../harness/wait.ts";

const mib = 1024 * 1024;
/** Half of the memory for answers. */
const share = 64 * mib;
const method = "EmailService/GetEmailContent";
const attachment = Buffer.alloc(9 * mib, "attached ").toString("base64");
let all: Neighbours;
let id: string;

before(async () => {
  all = await startNeighbours();
  const request = emailOf(all.attacker, {
    async: true,
    attachments: [{ base64Content: attachment, filename: "a.bin", contentType: "application/octet-stream" }],
  });
  id = requireOk(await all.program.call("EmailService/SendEmail", request, { key: all.attacker.key })).id as string;
});
after(async () => await all.stop());

const request = (reads: boolean, key = all.attacker.key) =>
  rawCall({ port: all.program.ports.http, method, key, body: JSON.stringify({ id }), reads });

async function untilReleased(): Promise<void> {
  await until("the memory of the answers to be released", async () => (await all.inUse("answer_bytes")) === 0);
  await until("the calls to end", async () => (await all.inUse("calls")) === 0);
}

test("answers that are not read hold at most half of the memory, further ones are refused, and another tenant's calls succeed", async (t) => {
  const key = await all.newKey(all.attacker);
  const unread: RawCall[] = Array.from({ length: 30 }, (_, i) => request(false, i % 2 ? key : undefined));
  await until("unread answers", async () => (await all.inUse("answer_bytes")) > share / 2);
  for (let i = 0; i < 5; i++) {
    await all.ordinaryCalls();
    assert.ok((await all.inUse("answer_bytes")) <= share);
  }
  // These wait behind the unread ones, until their wait is over.
  const late = request(true);
  await until("a refusal", () => late.received().endsWith("}"));
  requireRefusal(late.received());
  t.diagnostic(`peak memory ${Math.round(memoryMiB(all.program.pid).peak)} MiB`);
  for (const { socket } of unread) socket.destroy();
  await untilReleased();
  const content = requireOk(await all.program.call(method, { id }, { key: all.attacker.key }));
  assert.match(Buffer.from(content.raw as string, "base64").toString("latin1"), /a\.bin/);
});

test("the same over HTTP/2, on one connection", async () => {
  const session = connect2(all.program.url);
  session.on("error", () => {});
  const head = {
    ":method": "POST",
    ":path": `/v1.${method}`,
    authorization: `Bearer ${all.attacker.key}`,
    "content-type": "application/json",
    "connect-protocol-version": "1",
    "content-length": String(JSON.stringify({ id }).length),
  };
  const statuses: number[] = [];
  for (let i = 0; i < 20; i++) {
    const stream = session.request(head);
    stream.on("error", () => {});
    stream.on("response", (headers) => statuses.push(headers[":status"]!));
    stream.end(JSON.stringify({ id }));
  }
  await until("unread answers", async () => (await all.inUse("answer_bytes")) > share / 2);
  await all.ordinaryCalls();
  assert.ok((await all.inUse("answer_bytes")) <= share);
  await until("refusals", () => statuses.includes(429));
  session.destroy();
  await untilReleased();
});
