/**
 * Plays SMTP conversations from plain text files (test/dialogues) against a server. Each line of a file is one step:
 *
 *   # a comment
 *   C: EHLO x          send the text and CRLF
 *   C> a\n.\r\n{A*50}  send exactly these bytes: \r \n \0 \t \\ \xff, and {text*50} for text fifty times
 *   C* 10 RCPT {n}     send the text and CRLF ten times at once, {n} counting from 1
 *   S: 250 2.1         expect a complete reply whose lines, joined by " | ", begin with this
 *   S* 10 250          expect ten replies that begin with this
 *   TLS                do a TLS handshake
 *   end                the client drops the connection without QUIT
 *   closed             expect that the server closes the connection without another reply
 *   stored 1           expect that this conversation stored this many messages
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { patienceMs, until } from "./wait.ts";

export type DialogueDeps = { port: number; countStored(): Promise<number> };

export async function playDialogue(text: string, deps: DialogueDeps): Promise<void> {
  const before = await deps.countStored();
  let session = startSession(connect(deps.port, "127.0.0.1"));
  try {
    for (const [i, line] of text.split("\n").entries()) {
      if (line.trim() === "" || line.startsWith("#")) continue;
      const where = `line ${i + 1}: ${line.slice(0, 80)}`;
      const [, word = "", rest = ""] = /^(\S+) ?(.*)$/.exec(line)!;
      if (word === "C:") session.send(Buffer.from(`${rest}\r\n`));
      else if (word === "C>") session.send(bytesOf(rest));
      else if (word === "C*") {
        const [, times = "0", each = ""] = /^(\d+) (.*)$/.exec(rest)!;
        const all = Array.from({ length: Number(times) }, (_, n) => `${each.replaceAll("{n}", String(n + 1))}\r\n`);
        session.send(Buffer.from(all.join("")));
      } else if (word === "S:") await expectReply(session, rest, where);
      else if (word === "S*") {
        const [, times = "0", each = ""] = /^(\d+) (.*)$/.exec(rest)!;
        for (let n = 0; n < Number(times); n++) await expectReply(session, each, where);
      } else if (word === "TLS") session = await startTls(session);
      else if (word === "end") session.socket.destroy();
      else if (word === "closed")
        assert.equal(await session.reply(), undefined, `${where}: the server should have closed`);
      else if (word === "stored") await untilStored(deps, before + Number(rest), where);
      else assert.fail(`${where}: unknown step`);
    }
  } finally {
    session.socket.destroy();
  }
}

async function expectReply(session: Session, begin: string, where: string): Promise<void> {
  const reply = await session.reply();
  assert.ok(
    reply?.startsWith(begin),
    `${where}: the server replied ${JSON.stringify(reply?.slice(0, 300) ?? "nothing")}`,
  );
}

/** Waits for the expected number, then asserts that it is exact: the server stores nothing after its last reply. */
async function untilStored(deps: DialogueDeps, expected: number, where: string): Promise<void> {
  await until(`${where}: ${expected} stored`, async () => (await deps.countStored()) >= expected);
  assert.equal(await deps.countStored(), expected, where);
}

type Session = { socket: Socket; send(bytes: Buffer): void; reply(): Promise<string | undefined>; detach(): void };

function startSession(socket: Socket): Session {
  let text = "";
  let ended = false;
  let wake = () => {};
  const onData = (chunk: Buffer) => {
    text += chunk.toString("latin1");
    wake();
  };
  const onEnd = () => {
    ended = true;
    wake();
  };
  socket.on("data", onData);
  for (const name of ["end", "close", "error"]) socket.on(name, onEnd);
  return {
    socket,
    send: (bytes) => void socket.write(bytes),
    /** The next complete reply, or undefined when the connection has ended. */
    async reply() {
      const end = performance.now() + patienceMs;
      for (;;) {
        const whole = /^(?:\d{3}-.*\r\n)*\d{3}(?: .*)?\r\n/.exec(text)?.[0];
        if (whole) {
          text = text.slice(whole.length);
          return whole.trimEnd().split("\r\n").join(" | ");
        }
        if (ended) return undefined;
        if (performance.now() > end)
          throw new Error(`no reply within ${patienceMs} ms; so far ${JSON.stringify(text)}`);
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, 500);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
    },
    detach() {
      socket.off("data", onData);
    },
  };
}

async function startTls(session: Session): Promise<Session> {
  session.detach();
  const secure = connectTls({ socket: session.socket, rejectUnauthorized: false });
  await once(secure, "secureConnect");
  return startSession(secure);
}

function bytesOf(text: string): Buffer {
  const repeated = text.replace(/\{([^{}*]+)\*(\d+)\}/g, (_, piece: string, times: string) =>
    piece.repeat(Number(times)),
  );
  const plain: Record<string, string> = { r: "\r", n: "\n", "0": "\0", t: "\t", "\\": "\\" };
  const bytes = repeated.replace(/\\(?:x([0-9a-f]{2})|([rn0t\\]))/gi, (_, hex?: string, letter?: string) =>
    hex ? String.fromCharCode(Number.parseInt(hex, 16)) : plain[letter!]!,
  );
  return Buffer.from(bytes, "latin1");
}
