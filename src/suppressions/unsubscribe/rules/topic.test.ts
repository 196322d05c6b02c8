import assert from "node:assert/strict";
import { test } from "node:test";
import { allTopics, maskAddress, topicProblem } from "./topic.ts";

test("a topic has 1 to 64 lower-case letters, digits, hyphens, underscores and dots", () => {
  for (const topic of ["a", "7", "news", "weekly-digest_2.eu", "x".repeat(64)])
    assert.equal(topicProblem(topic), undefined);
  assert.match(topicProblem("")!, /is required/);
  assert.match(topicProblem("x".repeat(65))!, /65 characters, at most 64/);
  for (const topic of ["News", "a b", allTopics, "-a", "a.", "ä", "a\n", "a/b", "<b>"])
    assert.match(topicProblem(topic)!, /lower-case letters/, topic);
});

test("a masked address shows the first character and the domain, and no single character alone", () => {
  assert.equal(maskAddress("ada@example.net"), "a•••@example.net");
  assert.equal(maskAddress("a@example.net"), "•••@example.net");
  assert.equal(maskAddress('"a@b"@example.net'), '"•••@example.net');
  assert.equal(maskAddress("\u{1F3BA}x@example.net"), "\u{1F3BA}•••@example.net");
});
