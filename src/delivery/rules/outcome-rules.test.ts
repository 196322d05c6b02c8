import assert from "node:assert/strict";
import { test } from "node:test";
import { categories, codeRules, enhancedRules, wordingRules } from "./outcome-rules.ts";

test("every rule has a known category", () => {
  for (const category of [
    ...Object.values(enhancedRules),
    ...Object.values(codeRules),
    ...wordingRules.map((r) => r.category),
  ])
    assert.ok(category in categories, category);
});

test("table keys are well-formed: subject.detail, a subject alone, a code, or a code and a phase", () => {
  for (const key of Object.keys(enhancedRules)) assert.match(key, /^\d(\.\d{1,3})?$/);
  for (const key of Object.keys(codeRules)) assert.match(key, /^[45]\d\d( [a-z-]+)?$/);
});

test("no wording is stateful, and none is slow on a malicious reply", () => {
  const slow = ["a ".repeat(500), "-".repeat(1000), "<".repeat(1000), "5.7.1 ".repeat(166), "\u0000".repeat(1000)];
  for (const { wording } of wordingRules) {
    assert.ok(!wording.global && !wording.sticky, String(wording));
    const before = process.cpuUsage();
    for (const text of slow) wording.test(text);
    const { user, system } = process.cpuUsage(before);
    assert.ok(user + system < 250_000, `${wording} took ${user + system} µs`);
  }
});
