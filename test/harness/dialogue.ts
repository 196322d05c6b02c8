/**
 * SMTP conversations as plain text files (test/dialogues), played against a server. A line of a file is one step:
 *
 *   # a remark
 *   C: EHLO x          send the text and CRLF
 *   C> a\n.\r\n{A*50}  send exactly these bytes: \r \n \0 \t \\ \xff, and {text*50} for text fifty times
 *   C* 10 RCPT {n}     send the text and CRLF ten times at once, {n} counting from 1
 *   S: 250 2.1         a whole reply comes; its lines, joined by " | ", begin with this
 *   S* 10 250          ten replies come, each beginning with this
 *   TLS                a TLS handshake
 *   end                we close the connection without a word
 *   closed             the server closes it, and says nothing more
 *   stored 1           so many messages were stored by this conversation
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { patienceMs, until } from "./wait.ts";

export type DialogueDeps = { port: number; countStored(): Promise<number> };

export async function playDialogue(text: string, deps: DialogueDeps): Promise<void> {
  const before = await deps.countStored();
  let talk = startTalk(connect(deps.port, "127.0.0.1"));
  try {
    for (const [i, line] of text.split("\n").entries()) {
      if (line.trim() === "" || line.startsWith("#")) continue;
      const where = `line ${i + 1}: ${line.slice(0, 80)}`;
      const [, word = "", rest = ""] = /^(\S+) ?(.*)$/.exec(line)!;
      if (word === "C:") talk.send(Buffer.from(`${rest}\r\n`));
      else if (word === "C>") talk.send(bytesOf(rest));
      else if (word === "C*") {
        const [, times = "0", each = ""] = /^(\d+) (.*)$/.exec(rest)!;
        const all = Array.from({ length: Number(times) }, (_, n) => `${each.replaceAll("{n}", String(n + 1))}\r\n`);
        talk.send(Buffer.from(all.join("")));
      } else if (word === "S:") await expectReply(talk, rest, where);
      else if (word === "S*") {
        const [, times = "0", each = ""] = /^(\d+) (.*)$/.exec(rest)!;
        for (let n = 0; n < Number(times); n++) await expectReply(talk, each, where);
      } else if (word === "TLS") talk = await startTls(talk);
      else if (word === "end") talk.socket.destroy();
      else if (word === "closed")
        assert.equal(await talk.reply(), undefined, `${where}: the server should have closed`);
      else if (word === "stored") await untilStored(deps, before + Number(rest), where);
      else assert.fail(`${where}: no such step`);
    }
  } finally {
    talk.socket.destroy();
  }
}

async function expectReply(talk: Talk, begin: string, where: string): Promise<void> {
  const reply = await talk.reply();
  assert.ok(reply?.startsWith(begin), `${where}: the server said ${JSON.stringify(reply?.slice(0, 300) ?? "nothing")}`);
}

/** Nothing is stored after the last reply; what should be there is waited for. */
async function untilStored(deps: DialogueDeps, wanted: number, where: string): Promise<void> {
  await until(`${where}: ${wanted} stored`, async () => (await deps.countStored()) >= wanted);
  assert.equal(await deps.countStored(), wanted, where);
}

type Talk = { socket: Socket; send(bytes: Buffer): void; reply(): Promise<string | undefined>; detach(): void };

function startTalk(socket: Socket): Talk {
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
    /** Undefined: the connection has ended. */
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

async function startTls(talk: Talk): Promise<Talk> {
  talk.detach();
  const secure = connectTls({ socket: talk.socket, rejectUnauthorized: false });
  await once(secure, "secureConnect");
  return startTalk(secure);
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
