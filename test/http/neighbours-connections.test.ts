/** One machine opens more connections than the port has: it gets its share and an honest refusal, and other machines are served. */
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { type Neighbours, requireRefusal, startNeighbours } from "../harness/neighbours.ts";
import { http2Preface, sendRaw } from "../harness/raw.ts";
import { until } from "../harness/wait.ts";

const openFiles = 600;
/** Half of the open files are for the API port, and a single address gets three quarters of them. */
const share = (openFiles / 2) * (3 / 4);
let all: Neighbours;
const flood: Socket[] = [];

before(async () => {
  all = await startNeighbours({ openFiles });
});
after(async () => {
  for (const socket of flood) socket.destroy();
  await all.stop();
});

const health = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

async function from(localAddress: string, bytes: string | Buffer, enough: RegExp): Promise<string> {
  const socket = connect({ port: all.program.ports.http, host: "127.0.0.1", localAddress });
  socket.on("error", () => {});
  let text = "";
  socket.on("data", (chunk) => (text += chunk.toString("latin1")));
  socket.write(bytes);
  await until("an answer", () => enough.test(text) || socket.closed);
  socket.destroy();
  return text;
}

test("a flood of connections leaves places to other addresses, and its excess is told to come back", async () => {
  const port = all.program.ports.http;
  for (let i = 0; i < openFiles; i++) {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    // Kept open after its answer, for longer than a connection without a request.
    socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    socket.resume();
    flood.push(socket);
  }
  await until("the share to be used", async () => (await all.inUse("connections")) >= share);
  assert.equal(await all.inUse("connections"), share);
  for (let i = 2; i < 30; i++) assert.match(await from(`127.0.0.${i}`, health, /ok\n$/), /^HTTP\/1\.1 200 /);
  // The refusals of the flood itself take a moment to end.
  const { text } = await until("an honest refusal", async () => {
    const answer = await sendRaw(port, health, { enough: /\}$/ });
    return answer.status === 429 ? answer : undefined;
  });
  requireRefusal(text);
  const goaway = await until("GOAWAY", async () => {
    const frames = await from("127.0.0.1", http2Preface, /\x07\0\0\0\0\0[\s\S]{8}$/);
    return frames === "" ? undefined : frames;
  });
  assert.equal(Buffer.from(goaway, "latin1").readUInt32BE(goaway.length - 4), 0xb, "ENHANCE_YOUR_CALM");
  for (const socket of flood) socket.destroy();
  await until("the connections to end", async () => (await all.inUse("connections")) <= 1);
  await all.ordinaryCalls();
});
