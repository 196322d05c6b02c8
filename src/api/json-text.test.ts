import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { mayRepeatKeys } from "./json-text.ts";

const looks = (text: string) => mayRepeatKeys(text, JSON.parse(text));

test("a key that is written twice is always suspected, however it is written", () => {
  for (const text of [
    '{"a":1,"a":2}',
    '{"a" :1,"a"\t\r\n: 2}',
    '{"a":{"b":1,"b":1}}',
    '[1,{"x":[{"b":1,"b":1}]}]',
    '{"a":1,"\\u0061":2}',
    '{"__proto__":1,"__proto__":2}',
    '{"":1,"":2}',
  ])
    assert.equal(looks(text), true, text);
});

test("ordinary requests are not, and a text that looks like keys only costs a closer look", () => {
  for (const text of [
    "{}",
    "null",
    '"a"',
    '{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}',
    '{ "to" : ["a@b.test"], "html": "<p class=\\"x\\">a: b</p>" }',
    '{"__proto__":1}',
  ])
    assert.equal(looks(text), false, text);
  assert.equal(looks('{"text":"he said \\"no\\": and left"}'), true);
});

test("what JSON.stringify writes never has a key twice; the same member once more is always seen", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), fc.jsonValue(), (object, key, value) => {
      const inner = JSON.stringify({ ...object, [key]: value }).slice(1, -1);
      assert.equal(looks(`{${inner},${JSON.stringify(key)}:0}`), true);
    }),
  );
});

test("a text nested deeper than the stack is looked at all the same", () => {
  assert.equal(looks(`${'{"a":['.repeat(100_000)}1${"]}".repeat(100_000)}`), false);
});
