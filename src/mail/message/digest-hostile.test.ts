import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { htmlToText } from "../html-text.ts";
import { newTextOf } from "../reply-text.ts";
import { digestMessage } from "./digest.ts";
import { shapeProblem } from "./limits.ts";

const folder = new URL("../../../test/corpus/inbound/", import.meta.url);
const corpus = readdirSync(folder)
  .filter((file) => file.endsWith(".eml"))
  .map((file) => readFileSync(new URL(file, folder)));

/** What the bounds let through is read to an end and can be stored, whatever it is. */
async function survives(raw: Buffer): Promise<void> {
  if (shapeProblem(raw)) return;
  const digest = await digestMessage(raw, { sender: "" }).catch((error: Error) => error);
  const text = JSON.stringify(digest);
  assert.ok(text.isWellFormed() && !text.includes("\\u0000"), "no NUL and no half characters");
}

test("messages of the corpus, cut, joined and bitten, are read to an end", async () => {
  const piece = fc
    .tuple(
      fc.nat(corpus.length - 1),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
    )
    .map(([which, from, to]) => {
      const bytes = corpus[which]!;
      return bytes.subarray(
        Math.floor(Math.min(from, to) * bytes.length),
        Math.ceil(Math.max(from, to) * bytes.length),
      );
    });
  const bites = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 10 });
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 4 }), bites, async (pieces, bitten) => {
      const raw = Buffer.concat(pieces);
      for (const [at, byte] of bitten) if (raw.length > 0) raw[at % raw.length] = byte;
      await survives(raw);
    }),
    { numRuns: 300, interruptAfterTimeLimit: 5000 },
  );
});

test("any bytes at all are read to an end", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 2000 }), async (bytes) => await survives(Buffer.from(bytes))),
    { numRuns: 300, interruptAfterTimeLimit: 3000 },
  );
});

test("texts that are made to be slow are not", () => {
  const near = [
    "<",
    "<a ",
    "<!--",
    "&",
    "&#",
    "<blockquote>",
    '"',
    "> ",
    "On x ",
    "From: a\nTo: b\n",
    "-----",
    "\n",
    "a@",
  ];
  for (const text of near) {
    const long = text.repeat(Math.ceil(200_000 / text.length));
    const begun = process.cpuUsage();
    htmlToText(long);
    newTextOf(long);
    const { user } = process.cpuUsage(begun);
    // Not a measure of speed: what is quadratic takes minutes here.
    assert.ok(user < 10_000_000, `${JSON.stringify(text)} took ${user} µs`);
  }
});

test("the shape is judged before anything is parsed", () => {
  const crlf = (text: string) => Buffer.from(text.replaceAll("\n", "\r\n"));
  const parts = (count: number, boundary: string) =>
    crlf(
      `Content-Type: multipart/mixed; boundary="${boundary}"\n\n${`--${boundary}\n\nx\n`.repeat(count)}--${boundary}--\n`,
    );
  assert.equal(shapeProblem(parts(900, "----=_Part_1")), undefined);
  assert.match(shapeProblem(parts(200_000, "b")) ?? "", /^554 5\.6\.0/);
  assert.match(shapeProblem(parts(5000, "----=_Part_1")) ?? "", /^554 5\.6\.0/);
  assert.equal(
    shapeProblem(crlf(`Subject: x\n\n${"--boundary=b\n".repeat(200_000)}`)),
    undefined,
    "looked at once, not again and again",
  );
  assert.equal(shapeProblem(crlf(`Subject: a patch\n\n${"--- a/file\n".repeat(5000)}`)), undefined);
  assert.match(shapeProblem(crlf(`X: ${"a".repeat(70_000)}\n\nx`)) ?? "", /^554 5\.6\.0/);
  assert.match(shapeProblem(crlf(`${"Received: x\n".repeat(60)}\nx`)) ?? "", /^554 5\.4\.6/);
});
