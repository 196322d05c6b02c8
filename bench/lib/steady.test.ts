import assert from "node:assert/strict";
import test from "node:test";
import type { Row } from "./report.ts";
import { differs, middleRows, steady } from "./steady.ts";

const row = (value: number, of = 100, more: Partial<Row> = {}): Row => ({
  what: "rate",
  value,
  unit: "/s",
  baseline: { what: "limit", value: of },
  ...more,
});

async function run(...values: number[]) {
  let count = 0;
  const rows = await steady(
    () => {},
    async () => [row(values[count++]!)],
  );
  return { count, row: rows[0]! };
}

test("two measurements that agree are enough, and their mean counts", async () => {
  const { count, row } = await run(100, 108, 1);
  assert.equal(count, 2);
  assert.equal(row.value, 104);
  assert.equal(row.runs, 2);
  assert.ok(Math.abs(row.spread! - 4 / 104) < 1e-9);
});

test("a third measurement follows two that are more than 10 % apart, and the median counts", async () => {
  const { count, row } = await run(100, 120, 115);
  assert.equal(count, 3);
  assert.equal(row.value, 115);
  assert.equal(row.runs, 3);
});

test("of three measurements the one with the median ratio counts, with its own baseline", () => {
  const [middle] = middleRows([[row(50, 100)], [row(90, 300)], [row(80, 100)]]);
  assert.deepEqual([middle!.value, middle!.baseline!.value], [50, 100]);
});

test("a figure and a ratio that differ call for a third measurement, an extreme does not", () => {
  assert.ok(differs(row(100), row(120)));
  assert.ok(differs(row(100, 100), row(100, 120)));
  assert.ok(!differs(row(100), row(109)));
  const pause = (value: number): Row => ({ what: "longest pause", value, unit: "ms" });
  assert.ok(!differs(pause(10), pause(30)));
  assert.ok(differs({ ...pause(10), most: 50 }, { ...pause(30), most: 50 }));
});

test("rows are matched by name and baseline", () => {
  const other = (value: number) => row(value, 100, { baseline: { what: "peer", value: 200 } });
  const rows = middleRows([
    [row(10), other(30)],
    [other(32), row(12)],
  ]);
  assert.deepEqual(
    rows.map(({ value }) => value),
    [11, 31],
  );
});

test("the mean of two measurements has the mean of their shares", () => {
  const shares = (load: number) => ({ load, program: 2 * load });
  const [mean] = middleRows([[row(10, 100, { shares: shares(10) })], [row(10, 100, { shares: shares(20) })]]);
  assert.deepEqual(mean!.shares, { load: 15, program: 30 });
});
