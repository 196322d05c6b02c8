import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import { test } from "node:test";
import { createMovedClock, withoutMovedClock } from "./moved-clock.ts";

const dayMs = 86_400_000;

test("the wall clock of a running process moves both ways at once, and its monotonic clock does not", {
  skip: withoutMovedClock,
  timeout: 30_000,
}, async (t) => {
  const clock = await createMovedClock();
  t.after(clock.remove);
  // Answers each line with both clocks.
  const program = "process.stdin.on('data', () => console.log(Date.now() + ' ' + performance.now()))";
  const child = spawn(process.execPath, ["-e", program], { env: clock.env, stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => child.kill());
  const lines = createInterface({ input: child.stdout });
  const read = async () => {
    child.stdin.write("\n");
    const [line] = (await once(lines, "line")) as [string];
    const [wall, monotonic] = line.split(" ").map(Number) as [number, number];
    return { aheadMs: wall - Date.now(), monotonic };
  };
  let last = (await read()).monotonic;
  for (const days of [3, -30, 400, 0]) {
    await clock.set(days);
    const { aheadMs, monotonic } = await read();
    assert.ok(Math.abs(aheadMs - days * dayMs) < 60_000, `${days} days: ${aheadMs} ms ahead`);
    assert.ok(monotonic >= last && monotonic < last + 60_000, `from ${last} to ${monotonic}`);
    last = monotonic;
  }
});
