import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemory } from "./memory.ts";

const mib = 1024 * 1024;
const never = new AbortController().signal;
const small = (destination: string, workspaceId = "w1") => ({
  sizeBytes: 3000,
  streamedBytes: 0,
  destination,
  workspaceId,
});
const large = (destination: string, workspaceId = "w1") => ({
  sizeBytes: 30 * mib,
  streamedBytes: 0,
  destination,
  workspaceId,
});

/** Whether the reservation was granted without waiting for another one to be released. */
async function granted(reservation: Promise<unknown>): Promise<boolean> {
  let done = false;
  void reservation.then(
    () => {
      done = true;
    },
    () => {},
  );
  await new Promise((resolve) => setImmediate(resolve));
  return done;
}

test("small emails never wait for large ones", async () => {
  const memory = createMemory({ small: mib, large: 208 * mib });
  await memory.reserve(large("slow.test"), never);
  assert.equal(await granted(memory.reserve(large("slow.test"), never)), false);
  assert.equal(await granted(memory.reserve(small("slow.test"), never)), true);
});

test("large emails of a slow destination leave memory for other destinations once they are composed", async () => {
  const memory = createMemory({ small: mib, large: 208 * mib });
  const slow = await memory.reserve(large("slow.test"), never);
  const second = memory.reserve(large("slow.test"), never);
  const other = memory.reserve(large("other.test"), never);
  assert.equal(await granted(other), false);
  await slow.shrink(never);
  assert.equal(await granted(other), true);
  assert.equal(await granted(second), false, "a destination gets half of the memory: one email of this size");
  slow.release();
  (await other).release();
  assert.equal(await granted(second), true);
});

test("a workspace that fills its share leaves memory to others", async () => {
  const memory = createMemory({ small: mib, large: 208 * mib });
  for (let i = 0; i < 100; i++) void memory.reserve(small(`d${i}.test`), never);
  assert.equal(memory.contended(), true);
  assert.equal(await granted(memory.reserve(small("a.test", "w2"), never)), true);
});

test("mail from the object storage takes memory of small mail only once it is composed", async () => {
  const memory = createMemory({ small: mib, large: 16 * mib });
  const stored = { ...small("a.test"), sizeBytes: mib / 4, fromObjects: true };
  const [one, two] = [await memory.reserve(stored, never), await memory.reserve(stored, never)];
  assert.equal(await granted(memory.reserve(small("b.test"), never)), true);
  assert.equal(await granted(one.shrink(never)), true);
  const abort = new AbortController();
  const second = two.shrink(abort.signal);
  assert.equal(
    await granted(second),
    false,
    "the first holds half of the memory, and a workspace leaves some to others",
  );
  abort.abort(new Error("stopped"));
  await assert.rejects(second, /stopped/);
  two.release();
  one.release();
  const [next, third] = [await memory.reserve(stored, never), await memory.reserve(stored, never)];
  assert.deepEqual([await granted(next.shrink(never)), await granted(third.shrink(never))], [true, false]);
  next.release();
  third.release();
});

test("an aborted wait reserves nothing", async () => {
  const memory = createMemory({ small: mib, large: 208 * mib });
  const first = await memory.reserve(large("a.test"), never);
  const abort = new AbortController();
  const waiting = memory.reserve(large("b.test"), abort.signal);
  abort.abort(new Error("stopped"));
  await assert.rejects(waiting, /stopped/);
  first.release();
  first.release();
  (await memory.reserve(large("b.test"), never)).release();
  assert.equal(await granted(memory.reserve(large("a.test"), never)), true);
});
