import assert from "node:assert/strict";
import { test } from "node:test";
import { showProgress } from "./progress-line.ts";

function record(isTTY: boolean, columns = 80) {
  const written: string[] = [];
  let now = 0;
  const stream = { isTTY, columns, write: (text: string) => written.push(text) };
  return { written, progress: showProgress(stream, () => now), pass: (ms: number) => (now += ms) };
}

test("a terminal gets one line that is rewritten and removed", () => {
  const { written, progress, pass } = record(true);
  progress.show("1 of 4 lines", 0.25);
  progress.show("too soon", 0.3);
  pass(250);
  progress.show("9 of 4 lines", 2);
  progress.end();
  assert.deepEqual(written, [
    "\r\x1b[K[######------------------]  25 % 1 of 4 lines",
    "\r\x1b[K[########################] 100 % 9 of 4 lines",
    "\r\x1b[K",
  ]);
  const narrow = record(true, 20);
  narrow.progress.show("a long text that does not fit", 0.5);
  assert.equal(narrow.written[0]!.length, "\r\x1b[K".length + 19);
});

test("a log gets a plain line every half minute, and none for a short command", () => {
  const { written, progress, pass } = record(false);
  progress.show("at once");
  pass(29_000);
  progress.show("after 29 seconds");
  assert.deepEqual(written, []);
  pass(2_000);
  progress.show("12 MB copied", 0.5);
  pass(1_000);
  progress.show("too soon");
  progress.end();
  assert.deepEqual(written, [" 50 % 12 MB copied\n"]);
});
