import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import type { Reply } from "./evidence.ts";
import { ReplyReader, replyLimits } from "./reply.ts";

function read(...chunks: (string | Buffer)[]): { replies: Reply[]; fault: string | undefined; partial: boolean } {
  const reader = new ReplyReader();
  const replies: Reply[] = [];
  let fault: string | undefined;
  for (const chunk of chunks) fault ??= reader.push(Buffer.from(chunk as string), (reply) => replies.push(reply));
  return { replies, fault, partial: reader.partial };
}

test("a reply is parsed into code, enhanced code and text", () => {
  const { replies } = read("550 5.1.1 No such user here\r\n");
  assert.deepEqual(replies, [
    { code: 550, enhanced: "5.1.1", text: "No such user here", line: "550 5.1.1 No such user here" },
  ]);
});

test("a multiline reply is one reply that contains the enhanced code once", () => {
  const { replies } = read("550-5.7.26 Unauthenticated\r\n550-5.7.26 mail is blocked.\r\n550 5.7.26 Sorry\r\n");
  assert.equal(replies.length, 1);
  assert.equal(replies[0]?.text, "Unauthenticated\nmail is blocked.\nSorry");
  assert.equal(replies[0]?.line, "550 5.7.26 Unauthenticated mail is blocked. Sorry");
});

test("an enhanced code in the text, as qmail writes it, is found", () => {
  const [reply] = read("511 sorry, no mailbox here by that name (#5.1.1 - chkuser)\r\n").replies;
  assert.equal(reply?.enhanced, "5.1.1");
  assert.equal(reply?.line, "511 sorry, no mailbox here by that name (#5.1.1 - chkuser)");
});

test("a code without text and a bare LF are accepted", () => {
  assert.deepEqual(
    read("250\r\n354 go\n").replies.map((reply) => [reply.code, reply.text]),
    [
      [250, ""],
      [354, "go"],
    ],
  );
});

test("text that is not UTF-8 is read as Latin-1, and control characters become spaces", () => {
  assert.equal(read(Buffer.from("550 r\xe9fus\xe9\x1b[31m\r\n", "latin1")).replies[0]?.text, "réfusé [31m");
  assert.equal(read("550 refusé\r\n").replies[0]?.text, "refusé");
});

test("numbers that only look like an enhanced code stay in the text", () => {
  assert.equal(read("250 5.1.1.7 is your address\r\n").replies[0]?.enhanced, null);
  assert.equal(read("250 1.2.3 hello\r\n").replies[0]?.enhanced, null);
});

for (const [name, bytes, fault] of [
  ["words", "hello there\r\n", /not an SMTP reply/],
  ["a code out of range", "150 hm\r\n", /not an SMTP reply/],
  ["four digits", "2500 ok\r\n", /not an SMTP reply/],
  ["an empty line", "\r\n", /not an SMTP reply/],
  ["a code that changes", "250-one\r\n550 two\r\n", /code changes within a reply/],
  ["an endless line", `250 ${"x".repeat(replyLimits.lineBytes)}`, /line over/],
  ["a long finished line", `250 ${"x".repeat(replyLimits.lineBytes)}\r\n`, /line over/],
  ["too many lines", "250-x\r\n".repeat(replyLimits.lines + 1), /over 64 lines/],
  ["too many bytes", `250-${"x".repeat(1000)}\r\n`.repeat(17), /over 16384 bytes/],
] as const) {
  test(`${name} is a fault`, () => assert.match(read(bytes).fault ?? "", fault));
}

test("replies before a fault are still returned", () => {
  const { replies, fault } = read("250 2.0.0 queued\r\nrubbish\r\n");
  assert.equal(replies[0]?.code, 250);
  assert.match(fault ?? "", /not an SMTP reply/);
});

test("the replies do not depend on how the bytes are split into chunks", () => {
  const line = fc.stringMatching(/^[ -~]{0,40}$/);
  const reply = fc.tuple(fc.integer({ min: 200, max: 559 }), fc.array(line, { minLength: 1, maxLength: 5 }));
  fc.assert(
    fc.property(fc.array(reply, { maxLength: 6 }), fc.array(fc.nat(400), { maxLength: 12 }), (replies, cuts) => {
      const bytes = Buffer.from(
        replies
          .map(([code, lines]) => lines.map((t, i) => `${code}${i < lines.length - 1 ? "-" : " "}${t}\r\n`).join(""))
          .join(""),
      );
      const points = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
      const chunks = points.slice(1).map((end, i) => bytes.subarray(points[i], end));
      const cut = read(...chunks);
      assert.deepEqual(cut, read(bytes));
      assert.equal(cut.replies.length, replies.length);
      assert.equal(cut.partial, false);
    }),
  );
});

test("no input makes the reader throw", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 10 }), (chunks) => {
      const { replies } = read(...chunks.map((chunk) => Buffer.from(chunk)));
      for (const reply of replies) assert.ok(reply.code >= 200 && reply.code < 600);
    }),
  );
});
