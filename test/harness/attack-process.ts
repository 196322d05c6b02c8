/** The process of an attacker. attacks.ts starts it and talks to it over IPC; it attacks until it is killed. */
import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import { setPriority } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import type { AttackOrder, AttackReport } from "./attacks.ts";

/** Real attackers run on other machines, so this one leaves the cores to the program. */
setPriority(10);

const answers: Record<string, number> = {};
let isReady = false;

process.on("message", (order: AttackOrder) => {
  setInterval(() => process.send!({ ready: isReady, answers } satisfies AttackReport), 50);
  void attacks[order.attack]!(order).then(() => {
    isReady = true;
  });
});
process.on("disconnect", () => process.exit(0));

const attacks: Record<string, (order: AttackOrder) => Promise<void>> = {
  /** Reads mail that is expensive to parse, six calls at a time. */
  async "read inbound"({ inboundIds, ...order }) {
    await forever(6, async (n) => {
      await post(order, "InboundService/GetInbound", JSON.stringify({ id: inboundIds[n % inboundIds.length] }));
    });
  },
  /** Asks for large content and does not read the answers. */
  async "unread answers"(order) {
    await hold(16, () => unreadAnswer(order));
  },
  async "200 slow readers"(order) {
    await hold(200, () => slowReader(order));
  },
  async "mail of empty lines"(order) {
    const message = Buffer.concat([head(order), Buffer.from("\r\n".repeat(990_000))]);
    await forever(10, () => sendMail(order, message, "127.0.0.2"));
  },
  async "mail with 25 signatures"(order) {
    const signature = (n: number) =>
      `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=sender.test; s=ph1; h=From:Subject; i=@s${n}.sender.test;\r\n bh=${randomBytes(32).toString("base64")}; b=${randomBytes(256).toString("base64")}\r\n`;
    const signatures = Array.from({ length: 25 }, (_, n) => signature(n)).join("");
    const text = `${"words and more words ".repeat(45)}\r\n`.repeat(2200);
    const message = Buffer.concat([Buffer.from(signatures), head(order), Buffer.from(text)]);
    await forever(10, () => sendMail(order, message, "127.0.0.2"));
  },
  /** Messages of 15 MB that are never completed: one byte a second. */
  async "drip of large mail"(order) {
    const message = Buffer.concat([head(order), Buffer.from(`${"x".repeat(76)}\r\n`.repeat(190_000))]);
    await hold(12, () => drippedMail(order, message, "127.0.0.2"));
  },
  async "500 SMTP connections"({ smtp }) {
    await hold(500, (n) => silentSession(smtp, `127.0.0.${10 + (n % 10)}`));
  },
  async "1,000 half-open SMTP sessions"({ smtp }) {
    await hold(1000, (n) => silentSession(smtp, `127.0.0.${10 + (n % 50)}`));
  },
  async "70 unfinished requests"(order) {
    await hold(70, () => unfinished(order, 1_000_000, 900_000));
  },
  async "56 AddDomain calls"(order) {
    let n = 0;
    await forever(56, async () => {
      await post(order, "DomainService/AddDomain", JSON.stringify({ domain: `d${n++}.attacker.test` }));
    });
  },
  async "10,050 HTTP connections"({ http }) {
    await hold(10_050, () => silentConnection(http));
  },
  async "1,000 slow bodies"(order) {
    await hold(1000, () => unfinished(order, 60_000, 100));
  },
};

/** Repeats a call in several lanes. The attack is in place once the first calls are made. */
async function forever(lanes: number, call: (n: number) => Promise<void>): Promise<void> {
  for (let lane = 0; lane < lanes; lane++)
    void (async () => {
      for (let n = lane; ; n += lanes) {
        await call(n).catch((error: Error) => count(error.message));
        await delay(5);
      }
    })();
}

/** Keeps this many connections open: each one that ends is opened again a second later. */
async function hold(count: number, open: (n: number) => Promise<Socket>): Promise<void> {
  const keep = async (n: number): Promise<void> => {
    const socket = await open(n);
    socket.once("close", () => void delay(1000).then(() => keep(n)));
  };
  for (let n = 0; n < count; n += 50)
    await Promise.all(Array.from({ length: Math.min(50, count - n) }, (_, i) => keep(n + i)));
}

function count(answer: string): void {
  answers[answer] = (answers[answer] ?? 0) + 1;
}

/** A socket whose errors are counted. Resolves when it is connected or has failed. */
async function dial(port: number, localAddress: string): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  socket.on("error", (error: NodeJS.ErrnoException) => count(error.code ?? error.message));
  await new Promise<void>((resolve) => socket.once("connect", resolve).once("close", () => resolve()));
  return socket;
}

const stranger = "127.0.0.2";

function requestHead(key: string, method: string, length: number): string {
  return [
    `POST /v1.${method} HTTP/1.1`,
    "Host: 127.0.0.1",
    `Authorization: Bearer ${key}`,
    "Content-Type: application/json",
    "Connect-Protocol-Version: 1",
    `Content-Length: ${length}`,
    "\r\n",
  ].join("\r\n");
}

function countStatus(socket: Socket): void {
  socket.once("data", (chunk: Buffer) => count(chunk.toString("latin1", 9, 12)));
}

async function post({ http, key }: { http: number; key: string }, method: string, body: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${http}/v1.${method}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "connect-protocol-version": "1" },
    body,
  });
  await response.arrayBuffer();
  count(String(response.status));
}

async function unreadAnswer({ http, key, emailId }: AttackOrder): Promise<Socket> {
  const socket = await dial(http, stranger);
  socket.pause();
  const body = JSON.stringify({ id: emailId });
  socket.write(`${requestHead(key, "EmailService/GetEmailContent", body.length)}${body}`);
  return socket;
}

/** Reads 16 KiB a second. */
async function slowReader(order: AttackOrder): Promise<Socket> {
  const socket = await unreadAnswer(order);
  let isFirst = true;
  const timer = setInterval(() => {
    const chunk = socket.read(16 * 1024) ?? socket.read();
    if (chunk && isFirst) count((chunk as Buffer).toString("latin1", 9, 12));
    isFirst &&= !chunk;
  }, 1000);
  socket.once("close", () => clearInterval(timer));
  return socket;
}

/** Announces a body, sends a part of it and then one byte a second. */
async function unfinished({ http, key }: AttackOrder, bytes: number, sent: number): Promise<Socket> {
  const socket = await dial(http, stranger);
  countStatus(socket);
  socket.write(requestHead(key, "EmailService/SendEmail", bytes));
  socket.write(`{"body":"${"x".repeat(sent - 9)}`);
  return drip(socket);
}

function drip(socket: Socket): Socket {
  const timer = setInterval(() => socket.writable && socket.write("x"), 1000);
  socket.once("close", () => clearInterval(timer));
  return socket;
}

async function silentConnection(http: number): Promise<Socket> {
  const socket = await dial(http, stranger);
  countStatus(socket);
  return socket;
}

async function silentSession(smtp: number, localAddress: string): Promise<Socket> {
  const socket = await dial(smtp, localAddress);
  socket.on("data", (chunk: Buffer) => count(chunk.toString("latin1", 0, 3)));
  if (socket.writable) socket.write("EHLO attacker.test\r\n");
  return socket;
}

function head({ address }: AttackOrder): Buffer {
  return Buffer.from(
    `From: stranger@attacker.test\r\nTo: ${address}\r\nSubject: hello\r\nMessage-ID: <${randomBytes(8).toString("hex")}@attacker.test>\r\n\r\n`,
  );
}

/** Opens a session up to the answer to DATA. */
async function beginMail({ smtp, address }: AttackOrder, localAddress: string) {
  const socket = await dial(smtp, localAddress);
  let text = "";
  const replies: ((reply: string) => void)[] = [];
  const next = () => new Promise<string>((resolve) => replies.push(resolve));
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
    for (let end = text.search(/^\d{3} .*\r\n/m); end >= 0; end = text.search(/^\d{3} .*\r\n/m)) {
      const reply = text.slice(end, text.indexOf("\n", end) + 1);
      text = text.slice(end + reply.length);
      replies.shift()?.(reply);
    }
  });
  socket.once("close", () => {
    for (const reply of replies) reply("closed");
  });
  let reply = await next();
  for (const command of ["EHLO attacker.test", "MAIL FROM:<stranger@attacker.test>", `RCPT TO:<${address}>`, "DATA"]) {
    if (!/^[23]/.test(reply) || !socket.writable) break;
    const answer = next();
    socket.write(`${command}\r\n`);
    reply = await answer;
  }
  return { socket, reply, next };
}

async function sendMail(order: AttackOrder, message: Buffer, localAddress: string): Promise<void> {
  const { socket, reply, next } = await beginMail(order, localAddress);
  let last = reply;
  if (reply.startsWith("354")) {
    const answer = next();
    socket.write(message);
    socket.write("\r\n.\r\n");
    last = await answer;
  }
  count(last.slice(0, 9).trim());
  socket.destroy();
}

async function drippedMail(order: AttackOrder, message: Buffer, localAddress: string): Promise<Socket> {
  const { socket, reply } = await beginMail(order, localAddress);
  count(reply.slice(0, 3));
  socket.on("data", (chunk: Buffer) => count(chunk.toString("latin1", 0, 3)));
  if (reply.startsWith("354")) socket.write(message);
  return drip(socket);
}
