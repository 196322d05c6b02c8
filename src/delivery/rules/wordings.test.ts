/** The rows of wordings.json, one by one. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { readReplyLines } from "../../../test/harness/replies.ts";
import { classify, readReply } from "./outcome.ts";
import { categories, type WordingRow, wordingRules } from "./outcome-rules.ts";

const rows: WordingRow[] = JSON.parse(readFileSync(new URL("wordings.json", import.meta.url), "utf8"));

for (const [at, row] of rows.entries()) {
  test(`row ${at + 1}, ${row.receiver}: ${row.pattern.slice(0, 70)}`, () => {
    const { phase, reply, kind, scope, suppress } = row.example;
    const evidence = { kind: "refused", phase, reply: readReplyLines(reply) } as const;
    // An earlier row that matches the example would hide this one.
    assert.equal(wordingRules.indexOf(readReply(phase, evidence.reply).rule!), at, "another row decides the example");
    const outcome = classify(evidence, { relay: false });
    assert.deepEqual(
      [outcome.category, outcome.kind, outcome.scope, outcome.suppress],
      [row.category, kind, scope, suppress],
    );
    assert.ok(row.category in categories, row.category);
    assert.match(row.source, /^(?:https?:\/\/|RFC \d|seen: |[A-Za-z][\w ]+: \S)/);
    assert.deepEqual(
      Object.keys(row).filter((name) => !fields.has(name)),
      [],
    );
  });
}

const fields = new Set([
  ...["receiver", "category", "pattern", "enhanced", "codeClass", "phases"],
  ...["temporary", "recipientOnly", "source", "example"],
]);

test("the largest receivers and mail servers have rows of their own", () => {
  const receivers = new Set(rows.map(({ receiver }) => receiver));
  for (const name of ["gmail", "microsoft", "yahoo", "apple", "gmx", "orange", "qq", "postfix", "exim", "exchange"])
    assert.ok(receivers.has(name), name);
});

test("no address in an example belongs to a person", () => {
  for (const { example } of rows)
    for (const [address] of example.reply.matchAll(/[^\s<>()]+@[^\s<>():,]+/g))
      assert.match(address, /@(?:[a-z.-]+\.test|example\.com)/, address);
});

/** The words of a pattern, with which a receiver would try to keep it busy. */
function wordsOf(pattern: string): string[] {
  return [...new Set(pattern.match(/[a-z]{2,}/gi) ?? [])];
}

test("no pattern takes long on a reply that repeats its own words", () => {
  for (const { pattern } of rows) {
    // A quantifier on a group that ends in a quantifier is what makes matching exponential.
    assert.doesNotMatch(pattern.replace(/\\./g, "x"), /[*+}]\)[*+{]/, pattern);
    const wording = new RegExp(pattern, "i");
    const words = wordsOf(pattern);
    const texts = [...words.map((word) => `${word} `.repeat(500)), `${words.join(" ")} `.repeat(100), "a ".repeat(500)];
    const before = process.cpuUsage();
    for (const text of texts) wording.test(text.slice(0, 1000));
    const { user, system } = process.cpuUsage(before);
    assert.ok(user + system < 100_000 + texts.length * 5000, `${pattern} took ${user + system} µs`);
  }
});
