import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Problem } from "../ops/problem.ts";
import {
  maxNote,
  normalizeAddress,
  noteProblem,
  readCsv,
  readSuppressions,
  suppressionHeader,
  writeCsv,
  writeSuppression,
} from "./rules.ts";

test("an address is stored in lower case", () => {
  assert.deepEqual(normalizeAddress("Ann <Ann.B@There.TEST>"), { ok: true, address: "ann.b@there.test" });
  assert.equal(normalizeAddress("no-at-sign").ok, false);
});

test("a note has at most 500 code points, without NUL or unpaired surrogates", () => {
  assert.equal(noteProblem("\u{1F3BA}".repeat(maxNote)), undefined);
  assert.match(noteProblem("x".repeat(maxNote + 1))!, /501 characters, at most 500/);
  for (const broken of ["a\0b", "a\ud800"]) assert.match(noteProblem(broken)!, /NUL or unpaired surrogates/);
});

test("an import reads valid lines, reports invalid ones by line number, and ignores other columns", () => {
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

const read = (text: string) => [...readCsv(text)].map(({ cells }) => cells);

test("any written record is read back unchanged", () => {
  const cell = fc.string({ unit: fc.constantFrom("a", ",", '"', "\r", "\n", " ", "é"), maxLength: 8 });
  const record = fc.array(cell, { minLength: 2, maxLength: 4 });
  fc.assert(
    fc.property(fc.array(record, { maxLength: 5 }), (records) => {
      assert.deepEqual(read(records.map(writeCsv).join("")), records);
    }),
    { numRuns: 1000 },
  );
});

test("line numbers count line breaks inside quotes, and empty lines are not records", () => {
  const records = [...readCsv('\ufeffa,b\n\n"x\ny",2\r\nlast')];
  assert.deepEqual(records, [
    { line: 1, cells: ["a", "b"] },
    { line: 3, cells: ["x\ny", "2"] },
    { line: 5, cells: ["last"] },
  ]);
});

test("an unclosed quote or text after a closing quote loses no data", () => {
  assert.deepEqual(read('"abc'), [["abc"]]);
  assert.deepEqual(read('"a"b,c'), [["ab", "c"]]);
  assert.deepEqual(read("a,"), [["a", ""]]);
});
