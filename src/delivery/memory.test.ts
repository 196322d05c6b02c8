import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemory } from "./memory.ts";

const mib = 1024 * 1024;
const never = new AbortController().signal;
const small = (destination: string) => ({ sizeBytes: 3000, destination });
const large = (destination: string) => ({ sizeBytes: 30 * mib, destination });

/** Whether it was granted by the time that all that could be granted was. */
async function granted(holding: Promise<unknown>): Promise<boolean> {
  let done = false;
  void holding.then(() => {
    done = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return done;
}

test("small mail never waits for large", async () => {
  const memory = createMemory({ small: mib, large: 208 * mib });
  await memory.hold(large("slow.test"), never);
  assert.equal(await granted(memory.hold(large("slow.test"), never)), false);
  assert.equal(await granted(memory.hold(small("slow.test"), never)), true);
});

test("a slow destination with large mail leaves room for another's, once its own is composed", async () => {
  const memory = createMemory({ small: mib, large: 208 * mib });
  const slow = await memory.hold(large("slow.test"), never);
  const second = memory.hold(large("slow.test"), never);
  const other = memory.hold(large("other.test"), never);
  assert.equal(await granted(other), false);
  slow.shrink();
  assert.equal(await granted(other), true);
  assert.equal(await granted(second), false, "one at a time of this size for one destination");
  slow.release();
  (await other).release();
  assert.equal(await granted(second), true);
});

test("who gives up waiting leaves nothing behind", async () => {
  const memory = createMemory({ small: mib, large: 208 * mib });
  const first = await memory.hold(large("a.test"), never);
  const ending = new AbortController();
  const waiting = memory.hold(large("b.test"), ending.signal);
  ending.abort(new Error("stopped"));
  await assert.rejects(waiting, /stopped/);
  first.release();
  first.release();
  (await memory.hold(large("b.test"), never)).release();
  assert.equal(await granted(memory.hold(large("a.test"), never)), true);
});
