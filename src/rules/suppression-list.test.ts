import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "./problem.ts";
import {
  listedAddress,
  maxNote,
  noteProblem,
  readSuppressions,
  suppressionHeader,
  writeSuppression,
} from "./suppression-list.ts";

test("an address is held in one spelling, whatever case it was typed in", () => {
  assert.deepEqual(listedAddress("Ann <Ann.B@There.TEST>"), { ok: true, address: "ann.b@there.test" });
  assert.equal(listedAddress("nobody").ok, false);
});

test("a note has at most 500 characters, as a person counts them, all of them whole", () => {
  assert.equal(noteProblem("\u{1F3BA}".repeat(maxNote)), undefined);
  assert.match(noteProblem("x".repeat(maxNote + 1))!, /501 characters, at most 500/);
  for (const broken of ["a\0b", "a\ud800"]) assert.match(noteProblem(broken)!, /NUL or half characters/);
});

test("good lines of an import are read, bad ones named by their line, other columns passed over", () => {
  const csv = 'who, Address ,NOTE\r\nx,A@there.test, asked us \r\nx,nonsense,\r\nx,"b@there.test","a\0"\r\n';
  const lines = [...readSuppressions(csv)];
  assert.deepEqual(lines[0], { line: 2, entry: { address: "a@there.test", note: "asked us" } });
  assert.deepEqual(
    lines.slice(1).map((line) => [line.line, "problem" in line]),
    [
      [3, true],
      [4, true],
    ],
  );
});

test("an import without a header or without addresses is refused as a whole", () => {
  for (const [csv, reason] of [
    ["", /is empty/],
    ["email,note\r\na@there.test,", /needs a column "address"/],
  ] as const)
    assert.throws(
      () => [...readSuppressions(csv)],
      (error) => error instanceof Problem && reason.test(error.message),
    );
});

test("what is written is read again, also with commas, quotes and lines in its note", () => {
  const row = { address: "a@there.test", reason: "manual", note: 'said "no", twice\nand left', createdAt: new Date(0) };
  const [line] = [...readSuppressions(suppressionHeader + writeSuppression(row))];
  assert.deepEqual(line, { line: 2, entry: { address: row.address, note: row.note } });
});
