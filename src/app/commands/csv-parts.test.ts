import assert from "node:assert/strict";
import { test } from "node:test";
import { readCsv } from "../../ops/csv.ts";
import { splitCsv } from "./csv-parts.ts";

/** The records of all parts with the line numbers of the file, without the headers. */
function recordsIn(parts: Iterable<{ csv: string; lineOf(line: number): number }>) {
  return [...parts].flatMap(({ csv, lineOf }) =>
    [...readCsv(csv)].slice(1).map(({ line, cells }) => ({ line: lineOf(line), cells })),
  );
}

for (const [name, text] of Object.entries({
  plain: "address,note\na@x.test,1\nb@x.test,2\nc@x.test,3\n",
  "CRLF and no line end": "address\r\na@x.test\r\nb@x.test\r\nc@x.test",
  "CR only": "address\ra@x.test\rb@x.test\r",
  "a cell with line breaks": 'address,note\na@x.test,"one\ntwo ""quoted"" \n"\nb@x.test,2\nc@x.test,3\n',
  "quotes within a cell": 'address,note\na@x.test,5" pipe,"open\nstill"\nb@x.test,2"\nc@x.test,"3"x\n',
  "empty lines and a byte order mark": "\ufeffaddress\n\na@x.test\n\n\nb@x.test\nc@x.test\n",
  "a quote that never closes": 'address,note\na@x.test,1\nb@x.test,"open\nc@x.test,3\n',
  "a header of two lines": '"address","no\nte"\na@x.test,1\nb@x.test,2\n',
  "no records": "address\n",
  empty: "",
}))
  test(`the parts have the records and line numbers of the file: ${name}`, () => {
    const whole = [...readCsv(text)].slice(1);
    for (const records of [1, 2, 100])
      assert.deepEqual(recordsIn(splitCsv(text, { records, length: 1000 })), whole, String(records));
    assert.deepEqual(recordsIn(splitCsv(text, { records: 100, length: 30 })), whole);
  });

test("a part stays within its limits, unless one record exceeds them", () => {
  const long = `b@x.test,${"long".repeat(25)}`;
  const text = `address,note\n${Array.from({ length: 9 }, (_, i) => `a${i}@x.test,n\n`).join("")}${long}\n`;
  const parts = [...splitCsv(text, { records: 4, length: 60 })].map(({ csv }) => csv);
  assert.equal(parts.length, 4);
  for (const csv of parts) assert.ok(csv.length <= 60 || csv.includes(long), csv);
});
