import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { getPriority } from "node:os";
import { test } from "node:test";
import { lowerThreadPriority } from "./process.ts";

test("signing threads run at lower priority, and the event loop keeps its own", {
  skip: process.platform !== "linux" && "Linux only",
}, async () => {
  const before = getPriority(process.pid);
  const lowered = await lowerThreadPriority();
  const workers = readdirSync("/proc/self/task").filter(
    (id) => readFileSync(`/proc/self/task/${id}/comm`, "latin1").trim() === "libuv-worker",
  );
  assert.ok(workers.length > 0);
  assert.equal(lowered, workers.length);
  for (const id of workers) assert.equal(getPriority(Number(id)), Math.max(before, 5));
  assert.equal(getPriority(process.pid), before);
});
