import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { htmlToText } from "../html-text.ts";
import { newTextOf } from "../reply-text.ts";
import { digestMessage } from "./digest.ts";
import { shapeProblem } from "./structure.ts";

const folder = new URL("../../../test/corpus/inbound/", import.meta.url);
const corpus = readdirSync(folder)
  .filter((file) => file.endsWith(".eml"))
  .map((file) => readFileSync(new URL(file, folder)));

/** A message within the limits is read or refused with an error, and the result can be stored. */
async function survives(raw: Buffer): Promise<void> {
  if (shapeProblem(raw)) return;
  const digest = await digestMessage(raw, { sender: "" }).catch((error: Error) => error);
  const text = JSON.stringify(digest);
  assert.ok(text.isWellFormed() && !text.includes("\\u0000"), "no NUL and no unpaired surrogate");
}

test("messages of the corpus that are cut, joined and corrupted never crash the digest", async () => {
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
  const corruptions = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 10 });
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 4 }), corruptions, async (pieces, changes) => {
      const raw = Buffer.concat(pieces);
      for (const [at, byte] of changes) if (raw.length > 0) raw[at % raw.length] = byte;
      await survives(raw);
    }),
    { numRuns: 300, interruptAfterTimeLimit: 5000 },
  );
});

test("arbitrary bytes never crash the digest", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 2000 }), async (bytes) => await survives(Buffer.from(bytes))),
    { numRuns: 300, interruptAfterTimeLimit: 3000 },
  );
});

test("repetitive texts do not take quadratic time", () => {
  const fragments = [
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
  for (const text of fragments) {
    const long = text.repeat(Math.ceil(200_000 / text.length));
    const before = process.cpuUsage();
    htmlToText(long);
    newTextOf(long);
    const { user } = process.cpuUsage(before);
    // Not a benchmark: quadratic code takes minutes here.
    assert.ok(user < 10_000_000, `${JSON.stringify(text)} took ${user} µs`);
  }
});

test("messages with too many parts, hops or header bytes are refused before parsing", () => {
  const crlf = (text: string) => Buffer.from(text.replaceAll("\n", "\r\n"));
  const parts = (count: number, boundary: string) =>
    crlf(
      `Content-Type: multipart/mixed; boundary="${boundary}"\n\n${`--${boundary}\n\nx\n`.repeat(count)}--${boundary}--\n`,
    );
  assert.equal(shapeProblem(parts(900, "----=_Part_1")), undefined);
  assert.match(shapeProblem(parts(200_000, "b")) ?? "", /^554 5\.6\.0/);
  assert.match(shapeProblem(parts(5000, "----=_Part_1")) ?? "", /^554 5\.6\.0/);
  assert.equal(
    shapeProblem(crlf(`Subject: x\n\n${"--boundary=b\n".repeat(90_000)}`)),
    undefined,
    "dashes without a declared boundary are not parts",
  );
  assert.equal(shapeProblem(crlf(`Subject: a patch\n\n${"--- a/file\n".repeat(5000)}`)), undefined);
  assert.match(shapeProblem(crlf(`X: ${"a".repeat(70_000)}\n\nx`)) ?? "", /^554 5\.6\.0/);
  assert.match(shapeProblem(crlf(`${"Received: x\n".repeat(60)}\nx`)) ?? "", /^554 5\.4\.6/);
});
