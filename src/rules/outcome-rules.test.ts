import assert from "node:assert/strict";
import { test } from "node:test";
import { categories, codeRules, enhancedRules, wordingRules } from "./outcome-rules.ts";

test("every rule leads to a category that there is", () => {
  for (const category of [
    ...Object.values(enhancedRules),
    ...Object.values(codeRules),
    ...wordingRules.map((r) => r.category),
  ])
    assert.ok(category in categories, category);
});

test("keys are what a reply can have: subject.detail, a subject alone, a code, a code and a phase", () => {
  for (const key of Object.keys(enhancedRules)) assert.match(key, /^\d(\.\d{1,3})?$/);
  for (const key of Object.keys(codeRules)) assert.match(key, /^[45]\d\d( [a-z-]+)?$/);
});

test("no wording keeps a place between two looks, or holds a processor on a reply that is made to", () => {
  const slow = ["a ".repeat(500), "-".repeat(1000), "<".repeat(1000), "5.7.1 ".repeat(166), "\u0000".repeat(1000)];
  for (const { wording } of wordingRules) {
    assert.ok(!wording.global && !wording.sticky, String(wording));
    const before = process.cpuUsage();
    for (const text of slow) wording.test(text);
    const { user, system } = process.cpuUsage(before);
    assert.ok(user + system < 250_000, `${wording} took ${user + system} µs`);
  }
});
