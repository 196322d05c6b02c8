import assert from "node:assert/strict";
import test from "node:test";
import { plot } from "./plot.ts";

const day = new Date("2026-01-31T00:00:00Z");
const widths = (svg: string) =>
  [...svg.matchAll(/<rect x="440" .*?width="([\d.]+)"/g)].map(([, width]) => Number(width));

test("the length of a bar is the ratio of the row to its baseline", () => {
  const svg = plot(
    [
      { what: "half", value: 50, unit: "/s", baseline: { what: "limit", value: 100 } },
      { what: "whole", value: 100, unit: "/s", baseline: { what: "limit", value: 100 } },
      { what: "no baseline", value: 7, unit: "MiB" },
    ],
    day,
  );
  const [half, whole] = widths(svg);
  assert.equal(widths(svg).length, 2);
  assert.equal(half! * 2, whole);
  assert.match(svg, /50 % of limit/);
  assert.match(svg, /2026-01-31/);
});

test("a bar past the end is cut off, and its label shows the full ratio", () => {
  const svg = plot([{ what: "far", value: 1000, unit: "/s", baseline: { what: "limit", value: 100 } }], day);
  assert.ok(widths(svg)[0]! <= 400);
  assert.match(svg, /1000 % of limit/);
});

test("labels are escaped", () => {
  const svg = plot([{ what: "a < b & c", value: 1, unit: "ms", baseline: { what: "<limit>", value: 1 } }], day);
  assert.match(svg, /a &lt; b &amp; c/);
  assert.match(svg, /&lt;limit&gt;/);
});

test("a line shows the target, and the label says that it is missed", () => {
  const baseline = { what: "limit", value: 100 };
  const svg = plot(
    [
      { what: "missed", value: 50, unit: "/s", baseline, least: 0.8 },
      { what: "met", value: 90, unit: "/s", baseline, least: 0.8 },
      { what: "none", value: 90, unit: "/s", baseline },
    ],
    day,
  );
  const key = 1;
  assert.equal(svg.match(/class="target"/g)!.length, 2 + key);
  assert.equal(svg.match(/missed: at least 80 %/g)!.length, 1);
});
