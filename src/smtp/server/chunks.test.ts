/** BDAT: memory and time of a message whose chunks are apart. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { smallServer } from "../../../test/harness/smtp-server.ts";
import { createMessageMemory } from "./message-memory.ts";
import type { SessionLimits } from "./policy.ts";
import { createSmtpServer } from "./server.ts";

const running: { stop(graceMs: number): Promise<void> }[] = [];
after(async () => {
  for (const server of running) await server.stop(0);
});

async function start(limits: Partial<SessionLimits> = {}) {
  const memory = createMessageMemory({ bytes: 2000, unsharedBytes: 0, factor: 1 });
  const server = createSmtpServer({
    ...smallServer(memory, limits),
    submission: {
      allowsPlaintext: () => true,
      authenticate: async (login) => ({ owner: "tenant", login }),
    },
    policy: {
      recipient: async (address) => ({ address }),
      message: async ({ message }) => `250 2.0.0 stored ${message.length}`,
    },
  });
  running.push(server);
  const { port } = await server.start();
  return { server, memory, ...(await logIn(port)) };
}

async function logIn(port: number) {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  let text = "";
  socket.on("data", (chunk) => (text += chunk));
  const received = async (pattern: RegExp) => {
    while (!pattern.test(text))
      await Promise.race([once(socket, "data"), once(socket, "close").then(() => assert.match(text, pattern))]);
    return text;
  };
  socket.write("EHLO x\r\n");
  await received(/250 SMTPUTF8/);
  socket.write(`AUTH PLAIN ${Buffer.from("\0posthorn\0key").toString("base64")}\r\n`);
  await received(/235 /);
  socket.write("MAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\n");
  await received(/250 2\.1\.5/);
  return { socket, received };
}

test("a client that leaves between two chunks gives its memory back", async () => {
  for (const leave of ["QUIT\r\n", "\n", undefined]) {
    const { server, memory, socket, received } = await start();
    socket.write(`BDAT 800\r\n${"x".repeat(800)}`);
    await received(/800 octets received/);
    assert.equal(memory.used(), 800);
    if (leave) socket.write(leave);
    else socket.destroy();
    while (server.connections() > 0) {
      if (leave) socket.resume();
      await delay(5);
    }
    assert.equal(memory.used(), 0, JSON.stringify(leave));
  }
});

test("a message that gives way between two chunks is dropped", { timeout: 20_000 }, async () => {
  const { memory, socket, received } = await start();
  socket.write(`BDAT 900\r\n${"x".repeat(900)}`);
  await received(/900 octets received/);
  const other = memory.open("another", { rate: () => undefined, giveWay: () => assert.fail("it gave way") });
  assert.equal(other.reserve(880), true, "the share of the other sender");
  assert.equal(memory.used(), 880);
  socket.write("BDAT 0 LAST\r\n");
  await received(/452 4\.3\.1|stored 900/);
  await received(/452 4\.3\.1/);
});

test("chunks of single octets keep the minimum rate of the whole message", { timeout: 20_000 }, async () => {
  const { socket, received } = await start({ minimumRate: { bytesPerSecond: 1000, graceMs: 300 } });
  const ended = received(/421 4\.4\.2 timeout: the message arrives too slowly/);
  // The next command is always there when its turn comes.
  socket.write("BDAT 1\r\n");
  for (let i = 0; i < 60 && socket.writable && !socket.readableEnded; i++) {
    socket.write("xBDAT 1\r\n");
    await delay(50);
  }
  socket.destroy();
  await ended;
});

test("chunks without octets do not keep a message open", { timeout: 20_000 }, async () => {
  const { socket, received } = await start({ minimumRate: { bytesPerSecond: 1000, graceMs: 300 } });
  const ended = received(/421 4\.4\.2/);
  for (let i = 0; i < 60 && socket.writable && !socket.readableEnded; i++) {
    socket.write("BDAT 0\r\n");
    await delay(50);
  }
  socket.destroy();
  await ended;
});

test("a message that is too large is refused with the chunk that exceeds the limit", async () => {
  const { socket, received } = await start();
  socket.write(`BDAT 800\r\n${"x".repeat(800)}BDAT 800\r\n${"x".repeat(800)}BDAT 2 LAST\r\n\r\nNOOP\r\n`);
  const text = await received(/250 2\.0\.0 ok/);
  assert.match(text, /800 octets received\r\n552 5\.3\.4 .*\r\n503 5\.5\.1 .*\r\n250 2\.0\.0 ok\r\n$/);
});
