import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readCsv, writeCsv } from "./csv.ts";

const read = (text: string) => [...readCsv(text)].map(({ cells }) => cells);

test("whatever is written is read back the same", () => {
  const cell = fc.string({ unit: fc.constantFrom("a", ",", '"', "\r", "\n", " ", "é"), maxLength: 8 });
  const record = fc.array(cell, { minLength: 2, maxLength: 4 });
  fc.assert(
    fc.property(fc.array(record, { maxLength: 5 }), (records) => {
      assert.deepEqual(read(records.map(writeCsv).join("")), records);
    }),
    { numRuns: 1000 },
  );
});

test("lines are counted through quoted ones, and empty lines are none", () => {
  const records = [...readCsv('\ufeffa,b\n\n"x\ny",2\r\nlast')];
  assert.deepEqual(records, [
    { line: 1, cells: ["a", "b"] },
    { line: 3, cells: ["x\ny", "2"] },
    { line: 5, cells: ["last"] },
  ]);
});

test("quotes that do not end, and words behind quotes, lose nothing", () => {
  assert.deepEqual(read('"abc'), [["abc"]]);
  assert.deepEqual(read('"a"b,c'), [["ab", "c"]]);
  assert.deepEqual(read("a,"), [["a", ""]]);
});
