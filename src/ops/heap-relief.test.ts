import assert from "node:assert/strict";
import { test } from "node:test";
import { getHeapStatistics } from "node:v8";
import { until } from "../../test/harness/wait.ts";
import { createHeapRelief } from "./heap-relief.ts";

const usedMiB = () => getHeapStatistics().used_heap_size / 2 ** 20;

test("the garbage of a burst is collected when the burst is over, although the process allocates nothing", async () => {
  const relief = createHeapRelief({ quietMs: 50 });
  const before = usedMiB();
  let garbage: object[] | undefined = Array.from({ length: 2_000_000 }, (_, i) => ({ i, text: `${i}` }));
  assert.ok(garbage.length > 0 && usedMiB() > before + 60, `the burst used only ${usedMiB() - before} MiB`);
  garbage = undefined;
  relief.note(64 * 1024 * 1024);
  await until("the garbage to be collected", () => usedMiB() < before + 30);
});

test("little garbage is left alone, and one burst is collected once, when it is over", ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  let collections = 0;
  const relief = createHeapRelief({ collect: async () => void collections++, quietMs: 3000 });
  const mebibyte = 1024 * 1024;
  relief.note(mebibyte);
  mock.timers.tick(3000);
  assert.equal(collections, 0);
  for (let i = 0; i < 40; i++) {
    relief.note(mebibyte);
    mock.timers.tick(100);
  }
  assert.equal(collections, 0);
  mock.timers.tick(3000);
  assert.equal(collections, 1);
  relief.note(mebibyte);
  mock.timers.tick(3000);
  assert.equal(collections, 1);
});
