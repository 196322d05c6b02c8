/**
 * The cost of a transaction with our SMTP client and with nodemailer's SMTPConnection: npx node bench/smtp-client.ts.
 * Source of the numbers in docs/decisions/0005-smtp-client.md.
 */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import SMTPConnection from "nodemailer/lib/smtp-connection";
import { openSession } from "../src/smtp/client/session.ts";
import { startSink } from "../test/harness/sink.ts";

type Send = (data: Buffer) => Promise<void>;
type Client = { send: Send; close: () => unknown };

const small = Buffer.from(`Subject: x\r\n\r\n${`${"x".repeat(70)}\r\n`.repeat(42)}`);
const large = Buffer.from(`Subject: x\r\n\r\n${`${"x".repeat(76)}\r\n`.repeat(Math.floor((40 * 1024 * 1024) / 78))}`);

// The sink runs in its own process, so that its CPU time is not counted as the client's.
if (process.send) {
  const sink = await startSink({ record: false });
  process.send(sink.port);
  process.on("disconnect", () => process.exit(0));
} else {
  await run();
}

async function run(): Promise<void> {
  const child = fork(fileURLToPath(import.meta.url));
  const port = await new Promise<number>((resolve) => child.once("message", (value) => resolve(Number(value))));
  const clients = { ours: () => ours(port), nodemailer: () => nodemailer(port) };
  for (const [name, open] of Object.entries(clients)) await rate(name, open, 1, 2000);
  for (const sessions of [1, 20]) {
    console.log(`\n3 kB messages, ${sessions} session${sessions > 1 ? "s" : ""}`);
    for (const [name, open] of Object.entries(clients)) console.log(await rate(name, open, sessions, 6000));
  }
  console.log("\none message of 40 MiB");
  for (const [name, open] of Object.entries(clients)) console.log(await pause(name, open));
  child.disconnect();
}

async function rate(name: string, open: () => Promise<Client>, sessions: number, messages: number): Promise<string> {
  const clients = await Promise.all(Array.from({ length: sessions }, open));
  const cpu = process.cpuUsage();
  const start = performance.now();
  await Promise.all(
    clients.map(async ({ send }) => {
      for (let i = 0; i < messages / sessions; i++) await send(small);
    }),
  );
  const seconds = (performance.now() - start) / 1000;
  const used = process.cpuUsage(cpu);
  await Promise.all(clients.map(({ close }) => close()));
  const each = Math.round((used.user + used.system) / messages);
  return `  ${name.padEnd(12)} ${Math.round(messages / seconds)} messages/s, ${each} µs of CPU each`;
}

async function pause(name: string, open: () => Promise<Client>): Promise<string> {
  const client = await open();
  let longest = 0;
  let last = performance.now();
  let running = true;
  const tick = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (running) setImmediate(tick);
  };
  tick();
  const start = performance.now();
  await client.send(large);
  const took = performance.now() - start;
  running = false;
  await client.close();
  return `  ${name.padEnd(12)} ${Math.round(took)} ms, event loop blocked for at most ${Math.round(longest)} ms`;
}

async function ours(port: number): Promise<Client> {
  const opened = await openSession({
    host: "localhost",
    address: "127.0.0.1",
    port,
    heloName: "bench.test",
    tls: "none",
  });
  if ("failure" in opened) throw new Error(JSON.stringify(opened.failure));
  const { session } = opened;
  return {
    close: () => session.quit(),
    async send(data) {
      const result = await session.transact({ from: "a@example.test", recipients: ["b@example.test"], data });
      if (result.recipients[0]?.result.kind !== "accepted") throw new Error(JSON.stringify(result));
    },
  };
}

function nodemailer(port: number): Promise<Client> {
  const connection = new SMTPConnection({ host: "127.0.0.1", port, ignoreTLS: true, name: "bench.test" });
  const send: Send = (data) =>
    new Promise((resolve, reject) => {
      const envelope = { from: "a@example.test", to: ["b@example.test"], size: data.length };
      connection.send(envelope, data, (error) => (error ? reject(error) : resolve()));
    });
  return new Promise((resolve, reject) => {
    connection.on("error", reject);
    connection.connect(() => resolve({ send, close: () => connection.quit() }));
  });
}
