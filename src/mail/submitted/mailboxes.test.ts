import assert from "node:assert/strict";
import { test } from "node:test";
import { parseMailboxes } from "./mailboxes.ts";

const read = (value: string) => parseMailboxes(value).map(({ name, address }) => [name, address]);

test("names, groups, comments and encoded words are read, and what is no address is left out", () => {
  assert.deepEqual(read("Ann <ann@there.test>, bob@there.test (Bob)"), [
    ["Ann", "ann@there.test"],
    ["Bob", "bob@there.test"],
  ]);
  assert.deepEqual(read("Team: a@there.test, b@there.test;"), [
    ["", "a@there.test"],
    ["", "b@there.test"],
  ]);
  assert.deepEqual(read('=?UTF-8?Q?Zo=C3=AB?= <zoe@there.test>, "a, b" <c@there.test>'), [
    ["Zoë", "zoe@there.test"],
    ["a, b", "c@there.test"],
  ]);
  assert.deepEqual(read("undisclosed-recipients:;"), []);
  assert.deepEqual(read("root, ann@there.test"), [["", "ann@there.test"]]);
});

test("a list of thousands is cut", () => {
  const many = Array.from({ length: 3000 }, (_, i) => `u${i}@there.test`).join(", ");
  assert.equal(parseMailboxes(many).length, 100);
});
