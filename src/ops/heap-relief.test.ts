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
  relief.note();
  await until("the garbage to be collected", () => usedMiB() < before + 30);
});

test("a process without much garbage is left alone, and one burst is collected once", async ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  let collections = 0;
  const collect = async () => void collections++;
  const relief = createHeapRelief({ collect });
  const noteAndWait = async () => {
    relief.note();
    mock.timers.tick(10_000);
    // The heap is measured again after the collection.
    await new Promise((resolve) => setImmediate(resolve));
  };
  await noteAndWait();
  assert.equal(collections, 0);
  const kept = Array.from({ length: 2_000_000 }, (_, i) => ({ i, text: `${i}` }));
  for (let i = 0; i < 3; i++) await noteAndWait();
  assert.equal(collections, 1, `${kept.length} objects stay in use, so collecting them again is of no use`);
});
