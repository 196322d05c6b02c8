import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { asText, readCsv, writeCsv } from "./csv.ts";

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

test("a cell that a spreadsheet would run as a formula is text", () => {
  for (const cell of ["=1+1", "+49 30", "-1", "@SUM(A1)", "\tx", "\r=1"]) assert.equal(asText(cell), `'${cell}`);
  for (const cell of ["", "a=1", "'=1", "1-1"]) assert.equal(asText(cell), cell);
});
