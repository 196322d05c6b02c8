import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { mayRepeatKeys } from "./read-json.ts";

const suspects = (text: string) => mayRepeatKeys(text, JSON.parse(text));

test("a repeated key is always detected, in any notation", () => {
  for (const text of [
    '{"a":1,"a":2}',
    '{"a" :1,"a"\t\r\n: 2}',
    '{"a":{"b":1,"b":1}}',
    '[1,{"x":[{"b":1,"b":1}]}]',
    '{"a":1,"\\u0061":2}',
    '{"__proto__":1,"__proto__":2}',
    '{"":1,"":2}',
  ])
    assert.equal(suspects(text), true, text);
});

test("ordinary requests are not suspected, and a string that looks like a key is", () => {
  for (const text of [
    "{}",
    "null",
    '"a"',
    '{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}',
    '{ "to" : ["a@b.test"], "html": "<p class=\\"x\\">a: b</p>" }',
    '{"__proto__":1}',
  ])
    assert.equal(suspects(text), false, text);
  assert.equal(suspects('{"text":"he said \\"no\\": and left"}'), true);
});

test("a member that is added a second time to any object is always detected", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), fc.jsonValue(), (object, key, value) => {
      const inner = JSON.stringify({ ...object, [key]: value }).slice(1, -1);
      assert.equal(suspects(`{${inner},${JSON.stringify(key)}:0}`), true);
    }),
  );
});

test("a text that is nested deeper than the stack allows is checked too", () => {
  assert.equal(suspects(`${'{"a":['.repeat(100_000)}1${"]}".repeat(100_000)}`), false);
});
