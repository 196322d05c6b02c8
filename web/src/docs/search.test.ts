import assert from "node:assert/strict";
import { test } from "node:test";
import { type Entry, search } from "./search.ts";

const entry = (heading: string, text: string, page = "Page"): Entry => ({
  page,
  heading,
  text,
  address: `/${heading}`,
});
const entries = [
  entry("Rotation", "A new key replaces the old key for some time."),
  entry("Keys", "Create one."),
  entry("Retries", "Webhooks are retried eight times. (a+b) costs nothing."),
];
const found = (query: string) => search(entries, query).map((one) => one.entry.heading);

test("a match in the heading comes before matches in the text", () => {
  assert.deepEqual(found("key"), ["Keys", "Rotation"]);
});

test("every word must be found, as a word or as its beginning", () => {
  assert.deepEqual(found("web retri"), ["Retries"]);
  assert.deepEqual(found("key webhooks"), []);
  assert.deepEqual(found("ooks"), []);
  assert.deepEqual(found("REPLACES"), ["Rotation"]);
});

test("a query without words finds nothing, and signs are not part of a pattern", () => {
  assert.deepEqual(found("  "), []);
  assert.deepEqual(found("(a+b"), ["Retries"]);
  assert.deepEqual(found("[*"), []);
});

test("the excerpt shows the place of the match", () => {
  const long = `${"word ".repeat(60)}needle ${"more ".repeat(60)}`;
  const [{ excerpt } = { excerpt: "" }] = search([entry("Long", long)], "needle");
  assert.match(excerpt, /^… .*needle.* …$/);
  assert.ok(excerpt.length < 160);
});
