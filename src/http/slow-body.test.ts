import assert from "node:assert/strict";
import { test } from "node:test";
import type { Problem } from "../ops/problem.ts";
import { watchSpeed } from "./slow-body.ts";

test("a body is judged by its average after the grace time, and reported once", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  let nowMs = 0;
  t.mock.method(performance, "now", () => nowMs);
  const problems: Problem[] = [];
  const watch = watchSpeed((problem) => problems.push(problem));
  const pass = (ms: number, bytes: number) => {
    nowMs += ms;
    watch.received(bytes);
    t.mock.timers.tick(ms);
  };
  pass(8_000, 0);
  assert.equal(problems.length, 0, "within the grace time");
  pass(2_000, 41_000);
  pass(2_000, 10_000);
  assert.equal(problems.length, 0, "more than 4 KiB per second on average");
  pass(4_000, 10);
  pass(4_000, 10);
  assert.deepEqual(
    problems.map(({ code, retryAfterMs }) => [code, retryAfterMs]),
    [["resource_exhausted", 1_000]],
  );
  watch.stop();
});
