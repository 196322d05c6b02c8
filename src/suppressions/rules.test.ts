import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "../ops/problem.ts";
import { maxNote, noteProblem, readAddress, readSuppressions, suppressionHeader, writeSuppression } from "./rules.ts";

test("an address is read without its name, as it is spelled", () => {
  assert.deepEqual(readAddress("Ann <Ann.B@There.TEST>"), { ok: true, address: "Ann.B@there.test" });
  assert.equal(readAddress("no-at-sign").ok, false);
});

test("a note has at most 500 code points, without NUL or unpaired surrogates", () => {
  assert.equal(noteProblem("\u{1F3BA}".repeat(maxNote)), undefined);
  assert.match(noteProblem("x".repeat(maxNote + 1))!, /501 characters, at most 500/);
  for (const broken of ["a\0b", "a\ud800"]) assert.match(noteProblem(broken)!, /NUL or unpaired surrogates/);
});

test("an import reads valid lines, reports invalid ones by line number, and ignores other columns", () => {
  const csv = 'who, Address ,NOTE\r\nx,A@there.test, asked us \r\nx,nonsense,\r\nx,"b@there.test","a\0"\r\n';
  const lines = [...readSuppressions(csv)];
  assert.deepEqual(lines[0], { line: 2, entry: { address: "A@there.test", note: "asked us" } });
  assert.deepEqual(
    lines.slice(1).map((line) => [line.line, "problem" in line]),
    [
      [3, true],
      [4, true],
    ],
  );
});

test("an import without a header or without an address column is rejected as a whole", () => {
  for (const [csv, reason] of [
    ["", /is empty/],
    ["email,note\r\na@there.test,", /needs a column "address"/],
  ] as const)
    assert.throws(
      () => [...readSuppressions(csv)],
      (error) => error instanceof Problem && reason.test(error.message),
    );
});

test("an exported entry can be imported, even with commas, quotes and line breaks in its note", () => {
  const row = { address: "a@there.test", reason: "manual", note: 'said "no", twice\nand left', createdAt: new Date(0) };
  const [line] = [...readSuppressions(suppressionHeader + writeSuppression(row))];
  assert.deepEqual(line, { line: 2, entry: { address: row.address, note: row.note } });
});
