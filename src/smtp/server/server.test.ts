import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { duplexPair } from "node:stream";
import { after, test } from "node:test";
import { smallServer } from "../../../test/harness/smtp-server.ts";
import { createConnectionShares } from "../../shares/connections.ts";
import { createLoopShare } from "../../shares/loop-share.ts";
import { createMessageMemory } from "./message-memory.ts";
import { createSmtpServer, type SmtpServerDeps } from "./server.ts";
import { createSession } from "./session.ts";

const running: { stop(graceMs: number): Promise<void> }[] = [];
after(async () => {
  for (const server of running) await server.stop(0);
});

type Options = Partial<Omit<SmtpServerDeps, "limits">> & { limits?: Partial<SmtpServerDeps["limits"]> };

const memoryOf = (bytes: number) => createMessageMemory({ bytes, unsharedBytes: 0, factor: 1 });

/** Memory whose bytes are all in use, by a message that is complete. */
function usedMemory() {
  const memory = memoryOf(1);
  memory
    .open("another", { rate: () => undefined, giveWay: () => assert.fail("a complete message gave way") })
    .reserve(1);
  return memory;
}

async function start(options: Options = {}) {
  const memory = options.memory ?? memoryOf(1_000_000);
  const small = smallServer(memory, options.limits);
  const server = createSmtpServer({
    policy: {
      recipient: async (address) => ({ address }),
      message: async ({ message }) => `250 2.0.0 ${message.length}`,
    },
    ...small,
    ...options,
    limits: small.limits,
  });
  running.push(server);
  const { port } = await server.start();
  return { server, port, memory };
}

/** A client that collects the server's replies; `received` waits until they match. */
function dial(port: number): { socket: Socket; received(pattern: RegExp): Promise<string>; closed: Promise<unknown> } {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  let text = "";
  socket.on("data", (chunk) => (text += chunk));
  return {
    socket,
    closed: once(socket, "close"),
    async received(pattern) {
      while (!pattern.test(text))
        await Promise.race([once(socket, "data"), once(socket, "close").then(() => assert.fail(text))]);
      return text;
    },
  };
}

test("the limit of connections per address counts open connections only", async () => {
  const { server, port } = await start();
  const clients = [dial(port), dial(port), dial(port)];
  for (const client of clients) await client.received(/^220 /);
  const fourth = dial(port);
  await fourth.received(/^421 4\.7\.0/);
  await fourth.closed;
  clients[0]!.socket.end("QUIT\r\n");
  await clients[0]!.closed;
  while (server.connections() > 2) await new Promise((resolve) => setImmediate(resolve));
  await dial(port).received(/^220 /);
});

test("a silent client gets 421 and is disconnected, between commands and inside a message", async () => {
  const { port, memory } = await start({ limits: { commandMs: 100, dataMs: 100 } });
  const idle = dial(port);
  await idle.received(/421 4\.4\.2/);
  await idle.closed;
  const slow = dial(port);
  slow.socket.write("EHLO x\r\n");
  await slow.received(/250 SMTPUTF8/);
  slow.socket.write("MAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\nDATA\r\n");
  await slow.received(/354/);
  slow.socket.write("half a line");
  await slow.received(/421 4\.4\.2/);
  await slow.closed;
  assert.equal(memory.used(), 0, "its memory is released");
});

test("a message that arrives too slowly ends at the limit for a whole message", async () => {
  const { port } = await start({ limits: { dataMs: 5000, dataTotalMs: 300 } });
  const client = dial(port);
  client.socket.write("EHLO x\r\n");
  await client.received(/250 SMTPUTF8/);
  client.socket.write("MAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\nDATA\r\n");
  await client.received(/354/);
  const timer = setInterval(() => client.socket.write("x"), 20);
  await client.received(/421 4\.4\.2/);
  clearInterval(timer);
});

test("without memory a message is deferred with 452, and the session continues", async () => {
  const { port } = await start({ memory: usedMemory() });
  const client = dial(port);
  client.socket.write("EHLO x\r\n");
  await client.received(/250 SMTPUTF8/);
  client.socket.write("MAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\nDATA\r\n");
  await client.received(/354/);
  client.socket.write("hello\r\n.\r\nNOOP\r\n");
  await client.received(/452 4\.3\.1[\s\S]*250 2\.0\.0 ok/);
});

test("stop ends idle sessions at once and lets a running message finish", async () => {
  const work = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const { server, port } = await start({
    policy: {
      recipient: async (address) => ({ address }),
      async message() {
        begun.resolve();
        await work.promise;
        return "250 2.0.0 done";
      },
    },
  });
  const idle = dial(port);
  await idle.received(/^220/);
  const busy = dial(port);
  busy.socket.write("EHLO x\r\n");
  await busy.received(/250 SMTPUTF8/);
  busy.socket.write("MAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\nDATA\r\n");
  await busy.received(/354/);
  busy.socket.write("hello\r\n.\r\n");
  await begun.promise;
  const stopped = server.stop(20_000);
  await idle.received(/421 4\.3\.2/);
  work.resolve();
  await busy.received(/250 2\.0\.0 done\r\n421 4\.3\.2/);
  await stopped;
  assert.equal(server.connections(), 0);
});

test("a connection that has sent its limit of messages gets 421", async () => {
  const { port } = await start();
  const client = dial(port);
  client.socket.write("EHLO x\r\n");
  await client.received(/250 SMTPUTF8/);
  for (const n of [1, 2]) {
    client.socket.write("MAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\nDATA\r\n");
    await client.received(new RegExp(`(354[\\s\\S]*){${n}}`));
    client.socket.write("hello\r\n.\r\n");
    await client.received(new RegExp(`(250 2\\.0\\.0 7[\\s\\S]*){${n}}`));
  }
  client.socket.write("MAIL FROM:<a@b.test>\r\n");
  await client.received(/421 4\.7\.0/);
  await client.closed;
});

test("the server stops replying to a client that does not read", async () => {
  const [here, there] = duplexPair();
  const limits = { messageBytes: 1000, recipients: 3, errors: 5, messages: 2, idleCommands: 1e9 };
  const minimumRate = { bytesPerSecond: 1, graceMs: 200 };
  const times = { commandMs: 200, dataMs: 200, dataTotalMs: 200, minimumRate, messageMs: 60_000, sessionMs: 60_000 };
  const session = createSession(there as never, {
    hostname: "mx.test",
    stopping: new AbortController().signal,
    memory: memoryOf(1_000_000),
    loop: createLoopShare(),
    limits: { ...limits, ...times },
    secureContext: () => assert.fail("no TLS here"),
    policy: { recipient: async (address) => ({ address }), message: async () => "250 2.0.0 ok" },
  });
  const ended = session.run();
  // The test never reads from `here`.
  here.write("NOOP\r\n".repeat(100_000));
  await ended;
  assert.ok(there.writableLength < 1_000_000, `${there.writableLength} octets of replies are buffered`);
});

test("a command that arrives octet by octet gets no more time than another", async () => {
  const { port } = await start({ limits: { commandMs: 300 } });
  const client = dial(port);
  await client.received(/^220 /);
  const timer = setInterval(() => client.socket.write("x"), 20);
  await client.received(/421 4\.4\.2/);
  clearInterval(timer);
});

test("a session without a message ends, however many commands it sends", async () => {
  const reasons: string[] = [];
  const { port } = await start({
    limits: { messageMs: 300, idleCommands: 1e9 },
    onGiveUp: (reason) => void reasons.push(reason),
  });
  const client = dial(port);
  const timer = setInterval(() => client.socket.write("NOOP\r\n"), 100);
  await client.received(/421 4\.4\.2/);
  clearInterval(timer);
  assert.deepEqual(reasons, ["idle"]);
});

/** Starts a message: the client has sent these octets of it. */
async function startMessage(port: number, text: string): Promise<ReturnType<typeof dial>> {
  const client = dial(port);
  client.socket.write("EHLO x\r\n");
  await client.received(/250 SMTPUTF8/);
  client.socket.write("MAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\nDATA\r\n");
  await client.received(/354/);
  client.socket.write(text);
  return client;
}

test("a message below the minimum rate ends, also after a fast start", async () => {
  const minimumRate = { bytesPerSecond: 1000, graceMs: 400 };
  const { port, memory } = await start({ limits: { messageBytes: 1_000_000, minimumRate } });
  const client = await startMessage(port, `${"x".repeat(500_000)}\r\n`);
  const timer = setInterval(() => client.socket.write("y"), 20);
  await client.received(/421 4\.4\.2 timeout: the message arrives too slowly/);
  clearInterval(timer);
  await client.closed;
  assert.equal(memory.used(), 0);
});

test("without a share of memory a message is deferred at once, and holds nothing while it goes on", async () => {
  const { port, memory } = await start({ memory: memoryOf(1000), limits: { messageBytes: 10_000 } });
  const client = await startMessage(port, `${"x".repeat(400)}\r\n`);
  while (memory.used() < 402) await new Promise((resolve) => setImmediate(resolve));
  client.socket.write("y".repeat(400));
  while (memory.used() > 0) await new Promise((resolve) => setImmediate(resolve));
  client.socket.write("\r\n.\r\n");
  await client.received(/452 4\.3\.1/);
});

test("a message that gives way is answered with 421", async () => {
  const { port, memory } = await start({ memory: memoryOf(1000), limits: { messageBytes: 10_000 } });
  const client = await startMessage(port, `${"x".repeat(400)}\r\n`);
  while (memory.used() < 402) await new Promise((resolve) => setImmediate(resolve));
  // Few octets a second are slow from the start.
  const complete = { rate: () => undefined, giveWay: () => assert.fail("a complete message gave way") };
  assert.equal(memory.open("third", complete).reserve(290), true);
  assert.equal(memory.open("another", complete).reserve(350), true);
  await client.received(/421 4\.3\.1/);
  await client.closed;
});

test("a full port takes the place of an idle session, which gets a reply", async () => {
  const shares = createConnectionShares({ total: 2, factor: Number.POSITIVE_INFINITY, perAddress: 10 });
  const { port, server } = await start({ shares });
  // One after the other: the place of the session that is idle for the longest time is taken.
  const first = dial(port);
  await first.received(/^220 /);
  await dial(port).received(/^220 /);
  // The newcomer has another address, because an address does not take its own place.
  const socket = connect({ port, host: "127.0.0.1", localAddress: "127.0.0.2" });
  await once(socket, "data");
  await first.received(/421 4\.7\.0/);
  await first.closed;
  socket.destroy();
  while (server.connections() > 1) await new Promise((resolve) => setImmediate(resolve));
});

test("the errors of a client that has logged in count from its last accepted message on", async () => {
  const submission = {
    allowsPlaintext: () => true,
    authenticate: async (login: { user: string; password: string }) => ({ owner: "tenant", login }),
  };
  const { port } = await start({ submission, limits: { errors: 2, messages: 10 } });
  const client = dial(port);
  client.socket.write("EHLO x\r\n");
  await client.received(/250 SMTPUTF8/);
  client.socket.write(`AUTH PLAIN ${Buffer.from("\0posthorn\0key").toString("base64")}\r\n`);
  await client.received(/235 /);
  const refused = "MAIL FROM:<a@b.test>\r\nRCPT TO:a@b.test\r\nRSET\r\n".repeat(2);
  for (let i = 1; i <= 3; i++) {
    client.socket.write(`${refused}MAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\nBDAT ${i} LAST\r\n${"x".repeat(i)}`);
    assert.doesNotMatch(await client.received(new RegExp(`250 2\\.0\\.0 ${i}\r\n|421`)), /421/);
  }
  client.socket.write(refused.repeat(2));
  await client.received(/421 4\.7\.0 too many errors/);
});
