import assert from "node:assert/strict";
import test from "node:test";
import { measured, sharesBetween, showShares } from "./shares.ts";

test("shares are percent of one core", () => {
  const before = { load: 100, program: 0, machine: 5000 };
  const after = { load: 200, program: 1000, machine: 6150 };
  assert.deepEqual(sharesBetween(before, after, 1000), { load: 10, program: 100, others: 5 });
});

const unknown = { load: Number.NaN, machine: Number.NaN };

test("without /proc there are no shares", () => {
  assert.equal(sharesBetween(unknown, unknown, 1000), undefined);
});

test("only processes that took CPU time are shown", () => {
  assert.equal(showShares({ load: 14.4, receiver: 0.3, database: 38 }), "CPU of one core: load 14 %, PostgreSQL 38 %");
});

test("the result of the work is returned, with the share of this process", {
  skip: process.platform !== "linux",
}, async () => {
  const { result, shares } = await measured({ node: { pid: process.pid } }, async () => {
    for (const end = performance.now() + 100; performance.now() < end; );
    return 7;
  });
  assert.equal(result, 7);
  assert.ok(shares!.load > 0);
  assert.ok("program" in shares!);
});
