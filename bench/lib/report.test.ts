import assert from "node:assert/strict";
import test from "node:test";
import { type Row, summary, table, targetOf, withRatio } from "./report.ts";

const baseline = { what: "limit", value: 100 };
const rate = (value: number, more: Partial<Row> = {}): Row => ({ what: "rate", value, unit: "/s", baseline, ...more });

test("the target of a row with a baseline is a ratio", () => {
  assert.equal(targetOf(rate(50))?.state, undefined);
  assert.deepEqual(targetOf(rate(80, { least: 0.8 })), { state: "met", text: "at least 80 %" });
  assert.deepEqual(targetOf(rate(79, { least: 0.8 })), { state: "missed", text: "at least 80 %" });
  assert.equal(targetOf(rate(150, { most: 1.5 }))?.state, "met");
  assert.equal(targetOf(rate(151, { most: 1.5 }))?.state, "missed");
});

test("the target of a row without a baseline is a value in its unit", () => {
  const row = { what: "p99", value: 60, unit: "ms", most: 50 };
  assert.deepEqual(targetOf(row), { state: "missed", text: "at most 50 ms" });
  assert.equal(targetOf({ ...row, value: 49 })?.state, "met");
});

test("a figure that is not a number misses its target", () => {
  assert.equal(targetOf(rate(Number.NaN, { least: 0.8 }))?.state, "missed");
});

test("a row without its peer says why, and its target counts as not compared", () => {
  const row: Row = { what: "rate", value: 50, unit: "/s", least: 2.6, notCompared: "needs opendkim" };
  assert.deepEqual(targetOf(row), { state: "not compared", text: "at least 260 %" });
  assert.match(table([row]), /not compared: needs opendkim/);
  assert.match(summary([row]), /^0 of 1 targets are met\.\n {2}not compared: rate: needs opendkim/);
});

test("the summary counts the targets and names those that are missed", () => {
  const rows = [rate(90, { least: 0.8 }), rate(50, { what: "slow", least: 0.8 }), rate(10)];
  assert.equal(summary(rows), "1 of 2 targets are met.\n  missed: slow: 50 % of limit (target: at least 80 %)\n");
  assert.equal(summary([rate(10)]), "");
});

test("the table marks missed targets, and prints the shares of a figure once", () => {
  const shares = { load: 14.2, receiver: 9, program: 101, database: 38 };
  const printed = table([
    rate(50, { least: 0.8, shares, runs: 3, spread: 0.06 }),
    rate(50, { shares, baseline: { what: "peer", value: 50 } }),
  ]);
  const lines = printed.trimEnd().split("\n");
  assert.equal(lines.length, 3);
  assert.match(lines[0]!, /rate +50 \/s +50 % of 100: limit +±6 %, 3 runs +MISSED, at least 80 %$/);
  assert.match(lines[1]!, /^ +CPU of one core: load 14 %, receiver 9 %, program 101 %, PostgreSQL 38 %$/);
});

test("JSON has the ratio and the state of the target", () => {
  assert.deepEqual(withRatio(rate(50, { least: 0.8 })), { ...rate(50, { least: 0.8 }), ratio: 0.5, target: "missed" });
});
