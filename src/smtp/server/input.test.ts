import assert from "node:assert/strict";
import { duplexPair } from "node:stream";
import { test } from "node:test";
import fc from "fast-check";
import { createDataReader, type DataRead } from "./data.ts";
import { createServerInput, readCommand, readGreetingName, readPath } from "./input.ts";
import { createReceiveProgress } from "./progress.ts";

const enoughMemory = { maxBytes: 1_000_000, reserve: () => true };

/** Feeds the pieces to a reader; returns its result and the bytes after the message. */
function read(pieces: readonly Buffer[], options = enoughMemory): { result: DataRead | undefined; rest: string } {
  const reader = createDataReader(options);
  for (const [i, piece] of pieces.entries()) {
    const step = reader(piece);
    if (step)
      return {
        result: step.result,
        rest: Buffer.concat([step.rest ?? Buffer.alloc(0), ...pieces.slice(i + 1)]).toString("latin1"),
      };
  }
  return { result: undefined, rest: "" };
}

/** Dot stuffing as the client does it, RFC 5321 §4.5.2. */
function stuffed(text: string): string {
  return `${text.replace(/^\./gm, "..")}.\r\n`;
}

/** Cuts bytes into pieces at the given offsets, modulo the length. */
function cut(bytes: Buffer, offsets: readonly number[]): Buffer[] {
  const at = [...new Set(offsets.map((offset) => offset % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
}

const unit = fc.constantFrom("a", ".", " ", "\0", "ü", "\x7f");
/** Short lines, and lines that are long enough for the reader's search by Buffer. */
const line = fc.oneof(fc.string({ unit, maxLength: 12 }), fc.string({ unit, minLength: 30, maxLength: 100 }));
const offsets = fc.array(fc.nat(), { maxLength: 8 });

test("a message is read unchanged however it is split into chunks, and bytes after it are left unread", () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 10 }), offsets, (lines, cuts) => {
      const text = lines.map((one) => `${one}\r\n`).join("");
      const { result, rest } = read(cut(Buffer.from(`${stuffed(text)}QUIT\r\n`), cuts));
      assert.ok(result?.kind === "message");
      assert.equal(result.message.toString(), text);
      assert.equal(rest, "QUIT\r\n");
    }),
    { numRuns: 500 },
  );
});

test("only CRLF, dot, CRLF ends a message, and a bare CR or LF before it is a fault", () => {
  const part = fc.constantFrom("\r", "\n", "\r\n", ".", "a", "a".repeat(40));
  fc.assert(
    fc.property(fc.array(part, { maxLength: 30 }), offsets, (parts, cuts) => {
      const sent = parts.join("");
      const { result, rest } = read(cut(Buffer.from(sent), cuts));
      const before = result?.kind === "message" ? sent.slice(0, sent.length - rest.length) : sent;
      const bare = /\r(?!\n|$)|(?<!\r)\n/.test(before);
      if (result?.kind === "fault") assert.ok(bare, JSON.stringify(sent));
      else assert.ok(!bare, `${JSON.stringify(sent)} was accepted`);
      if (result?.kind === "message") assert.match(before, /(?:^|\r\n)\.\r\n$/);
    }),
    { numRuns: 2000 },
  );
});

test("a message over the limit is read and discarded, and reading stops far beyond the limit", () => {
  const long = `${"x".repeat(70)}\r\n`.repeat(20);
  const ended = read([Buffer.from(`${long}.\r\nNOOP\r\n`)], { ...enoughMemory, maxBytes: 100 });
  assert.deepEqual(ended, { result: { kind: "too large", ended: true }, rest: "NOOP\r\n" });
  const endless = read([Buffer.alloc(200_000, "x"), Buffer.from("\r\n")], { ...enoughMemory, maxBytes: 100 });
  assert.deepEqual(endless.result, { kind: "too large", ended: false });
  const noMemory = read([Buffer.from("hello\r\n.\r\n")], { ...enoughMemory, reserve: () => false });
  assert.deepEqual(noMemory.result, { kind: "too large", ended: true });
});

test("a large message is read in turns, and a small one as it arrives", async () => {
  const turnsFor = async (bytes: number) => {
    const [here, there] = duplexPair();
    const input = createServerInput(there as never);
    let turns = 0;
    const options = {
      pauseMs: 60_000,
      totalMs: 60_000,
      progress: createReceiveProgress({ bytesPerSecond: 1, graceMs: 60_000 }),
      signal: new AbortController().signal,
      turn: async () => void turns++,
    };
    const reading = input.data(options, createDataReader(enoughMemory));
    for (let sent = 0; sent < bytes; sent += 30_000) here.write(`${"x".repeat(29_998)}\r\n`);
    here.write(".\r\n");
    assert.equal((await reading).kind, "message");
    return turns;
  };
  assert.equal(await turnsFor(30_000), 0);
  assert.ok((await turnsFor(640_000)) >= 8);
});

test("a command is split into verb and rest, and bytes that are not UTF-8 are not a command", () => {
  assert.deepEqual(readCommand(Buffer.from("mail FROM:<a@b>  ")), { verb: "MAIL", rest: "FROM:<a@b>" });
  assert.deepEqual(readCommand(Buffer.from("QUIT")), { verb: "QUIT", rest: "" });
  assert.deepEqual(readCommand(Buffer.from(" MAIL")), { verb: "", rest: " MAIL" });
  assert.deepEqual(readCommand(Buffer.from("MAIL\tx")), { verb: "", rest: "MAIL\tx" });
  assert.equal(readCommand(Buffer.from([0x4d, 0xff])), undefined);
});

test("a path is in angle brackets and is followed by parameters, each at most once", () => {
  const path = readPath("FROM:<a@b.test> SIZE=10 BODY=8BITMIME", "FROM")!;
  assert.deepEqual(
    [path.address, [...path.parameters]],
    [
      "a@b.test",
      [
        ["SIZE", "10"],
        ["BODY", "8BITMIME"],
      ],
    ],
  );
  assert.equal(readPath("from: <>", "FROM")!.address, "");
  assert.equal(readPath("TO:<@a,@b:c@d>", "TO")!.address, "@a,@b:c@d", "the recipient policy decides on source routes");
});

for (const rest of [
  "FROM:a@b",
  "FROM:<a@b",
  "FROM:<a b>",
  "FROM:<<a@b>>",
  "TO:<a@b>",
  "FROM:<a@b>x",
  "FROM:<a@b> SIZE=1 size=2",
  "FROM:<a@b> =1",
  `FROM:<${"a".repeat(321)}>`,
  "",
])
  test(`${JSON.stringify(rest.slice(0, 40))} is a syntax error`, () => assert.equal(readPath(rest, "FROM"), undefined));

test("the name in EHLO is one printable word", () => {
  assert.equal(readGreetingName(" mx.there.test "), "mx.there.test");
  for (const bad of ["", "a b", "ü", "a\0", "a".repeat(256)]) assert.equal(readGreetingName(bad), undefined);
});
