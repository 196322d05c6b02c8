import assert from "node:assert/strict";
import { test } from "node:test";
import { inCallScope, noteCommitting, passWriteCheck } from "./call-scope.ts";
import { createGroupCommit } from "./group-commit.ts";

type Batch = { items: string[]; done(): void; fail(error: unknown): void };

/** A group whose batches commit only when the test calls `done` or `fail`. */
function heldGroup(options: Partial<Parameters<typeof createGroupCommit<string, string>>[0]> = {}) {
  const batches: Batch[] = [];
  const group = createGroupCommit<string, string>({
    run: (items) =>
      new Promise((resolve, reject) =>
        batches.push({ items, done: () => resolve(items.map((item) => `${item}!`)), fail: reject }),
      ),
    maxItems: 3,
    maxBytes: 100,
    concurrency: 1,
    ...options,
  });
  return { group, batches };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));
const settle = async () => {
  for (let i = 0; i < 5; i++) await turn();
};

test("callers of one turn share a commit, and callers that arrive during it share the next", async () => {
  const { group, batches } = heldGroup();
  const first = [group.add("a", 1), group.add("b", 1)];
  await settle();
  const second = [group.add("c", 1), group.add("d", 1)];
  await settle();
  assert.deepEqual(
    batches.map(({ items }) => items),
    [["a", "b"]],
  );
  batches[0]!.done();
  assert.deepEqual(await Promise.all(first), ["a!", "b!"]);
  await settle();
  assert.deepEqual(batches[1]!.items, ["c", "d"]);
  batches[1]!.done();
  assert.deepEqual(await Promise.all(second), ["c!", "d!"]);
  await group.idle();
});

test("a batch is limited in items and bytes, but one item always fits", async () => {
  const { group, batches } = heldGroup({ concurrency: 9 });
  for (const item of ["a", "b", "c", "d"]) void group.add(item, 1);
  await settle();
  assert.deepEqual(
    batches.splice(0).map(({ items }) => items),
    [["a", "b", "c"], ["d"]],
  );
  for (const item of ["e", "f", "g"]) void group.add(item, 60);
  void group.add("huge", 1000);
  await settle();
  assert.deepEqual(
    batches.map(({ items }) => items),
    [["e"], ["f"], ["g"], ["huge"]],
  );
});

test("above halveAboveItems a batch takes half of the queue, up to maxItems", async () => {
  const { group, batches } = heldGroup({ maxItems: 6, halveAboveItems: 2 });
  for (let i = 0; i < 19; i++) void group.add(`i${i}`, 1);
  for (let i = 0; i < 5; i++) {
    await settle();
    batches[i]!.done();
  }
  await group.idle();
  assert.deepEqual(
    batches.map(({ items }) => items.length),
    [6, 6, 4, 2, 1],
  );
});

test("a second batch starts at once when it is full, and otherwise after parallelAfterMs", async () => {
  const { group, batches } = heldGroup({ concurrency: 2, parallelAfterMs: 30 });
  const first = group.add("a", 1);
  await settle();
  const second = group.add("b", 1);
  await settle();
  assert.equal(batches.length, 1, "it waits for the first batch");
  const more = [group.add("c", 1), group.add("d", 1)];
  await settle();
  assert.deepEqual(batches[1]!.items, ["b", "c", "d"], "a full batch does not wait");
  batches[1]!.done();
  await Promise.all([second, ...more]);
  // The first batch is stuck: a new item waits at most parallelAfterMs.
  const late = group.add("e", 1);
  while (batches.length < 3) await turn();
  batches[2]!.done();
  assert.equal(await late, "e!");
  const soon = group.add("f", 1);
  await settle();
  assert.equal(batches.length, 4, "an item does not wait when the running batch is older than parallelAfterMs");
  batches[3]!.done();
  await soon;
  batches[0]!.done();
  await first;
});

test("a second batch starts when the first one commits, and counts as one of those that run", async () => {
  const batches: { items: string[]; commit(): void; done(): void }[] = [];
  const group = createGroupCommit<string, string>({
    run: async (items) => {
      const statement = Promise.withResolvers<void>();
      const committed = Promise.withResolvers<void>();
      batches.push({ items, commit: statement.resolve, done: committed.resolve });
      await statement.promise;
      noteCommitting();
      await committed.promise;
      return items;
    },
    maxItems: 3,
    maxBytes: 100,
    concurrency: 2,
    parallelAfterMs: 60_000,
  });
  const all = [group.add("a", 1)];
  await settle();
  all.push(group.add("b", 1));
  await settle();
  assert.equal(batches.length, 1);
  batches[0]!.commit();
  await settle();
  assert.deepEqual(batches[1]!.items, ["b"]);
  batches[1]!.commit();
  all.push(group.add("c", 1));
  await settle();
  assert.equal(batches.length, 2, "two batches commit");
  batches[1]!.done();
  await settle();
  assert.deepEqual(batches[2]!.items, ["c"]);
  batches[0]!.done();
  batches[2]!.commit();
  batches[2]!.done();
  assert.deepEqual(await Promise.all(all), ["a", "b", "c"]);
});

test("items with the same key never share a batch and keep their order", async () => {
  const { group, batches } = heldGroup({ keyOf: (item) => item[0], maxItems: 9 });
  for (const item of ["a1", "a2", "b1", "a3"]) void group.add(item, 1);
  for (let i = 0; i < 3; i++) {
    await settle();
    batches[i]!.done();
  }
  assert.deepEqual(
    batches.map(({ items }) => items),
    [["a1", "b1"], ["a2"], ["a3"]],
  );
  await group.idle();
});

test("items of different parts never share a batch, and the part that waits longest is next", async () => {
  const { group, batches } = heldGroup({ partOf: (item) => item[0], maxItems: 2 });
  for (const item of ["a1", "b1", "a2", "b2", "a3"]) void group.add(item, 1);
  for (let i = 0; i < 3; i++) {
    await settle();
    batches[i]!.done();
  }
  assert.deepEqual(
    batches.map(({ items }) => items),
    [["a1", "a2"], ["b1", "b2"], ["a3"]],
  );
  await group.idle();
});

test("a bad item fails alone when splitOn matches its error, and otherwise the whole batch fails", async () => {
  const bad = new Error("bad row");
  const { group, batches } = heldGroup({ splitOn: (error) => error === bad });
  const mixed = [group.add("good", 1), group.add("bad", 1)].map((one) => one.catch((error: Error) => error.message));
  await settle();
  batches[0]!.fail(bad);
  await settle();
  batches[1]!.done();
  await settle();
  batches[2]!.fail(bad);
  assert.deepEqual(await Promise.all(mixed), ["good!", "bad row"]);
  const lost = [group.add("x", 1), group.add("y", 1)].map((one) => one.catch((error: Error) => error.message));
  await settle();
  batches[3]!.fail(new Error("the database is unavailable"));
  assert.deepEqual(await Promise.all(lost), ["the database is unavailable", "the database is unavailable"]);
  assert.equal(batches.length, 4);
});

test("with minIntervalMs the first batch starts at once, the next one waits, and a full one does not", async () => {
  const { group, batches } = heldGroup({ minIntervalMs: 60_000 });
  const first = group.add("a", 1);
  await settle();
  batches[0]!.done();
  assert.equal(await first, "a!");
  const rest = [group.add("b", 1)];
  await settle();
  assert.equal(batches.length, 1, "it waits for more items");
  rest.push(group.add("c", 1), group.add("d", 1));
  await settle();
  assert.deepEqual(batches[1]!.items, ["b", "c", "d"]);
  batches[1]!.done();
  await Promise.all(rest);
  const short = heldGroup({ minIntervalMs: 20 });
  const [one, two] = [short.group.add("a", 1), settle().then(() => short.group.add("b", 1))];
  await settle();
  short.batches[0]!.done();
  await one;
  while (short.batches.length < 2) await turn();
  short.batches[1]!.done();
  assert.equal(await two, "b!", "the waiting item is committed after the interval");
});

test("an item of an owner without a recent batch waits a tenth of minIntervalMs", async (t) => {
  const { group, batches } = heldGroup({ minIntervalMs: 60_000, ownerOf: (item) => item[0]! });
  const busy = [group.add("a1", 1)];
  await settle();
  busy.push(group.add("a2", 1));
  await settle();
  assert.equal(batches.length, 1);
  batches[0]!.done();
  // The wait is a tenth of the interval: 0.4 s of 4 s.
  const timers = t.mock.method(globalThis, "setTimeout");
  const short = heldGroup({ minIntervalMs: 4000, ownerOf: (item) => item[0]! });
  const [first, second] = [short.group.add("a1", 1), settle().then(() => short.group.add("b1", 1))];
  await settle();
  short.batches[0]!.done();
  await first;
  while (short.batches.length < 2) await turn();
  assert.deepEqual(short.batches[1]!.items, ["b1"]);
  const delaysMs = timers.mock.calls.map(({ arguments: [, ms] }) => ms ?? 0);
  assert.ok(delaysMs.length > 0 && Math.min(...delaysMs) <= 400, `it waited ${delaysMs} ms`);
  short.batches[1]!.done();
  await second;
});

test("items whose calls may no longer write are left out when the batch has its connection", async () => {
  const stored: string[][] = [];
  const connections = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let tries = 0;
  const group = createGroupCommit<string, string>({
    async run(items) {
      await connections[Math.min(tries++, 1)]!.promise;
      passWriteCheck();
      stored.push(items);
      return items.map((item) => `${item}!`);
    },
    maxItems: 10,
    maxBytes: 100,
    concurrency: 1,
  });
  const late = new Set<string>();
  const sent: string[] = [];
  const add = (item: string) =>
    inCallScope(
      {
        committed: 0,
        timeLeftMs: () => undefined,
        check() {
          if (late.has(item)) throw new Error(`${item} is late`);
        },
        sent: () => sent.push(item),
      },
      () => group.add(item, 1),
    );
  const answers = Promise.allSettled([add("a"), add("b"), add("c"), group.add("without a call", 1)]);
  await settle();
  late.add("b");
  connections[0]!.resolve();
  await settle();
  assert.deepEqual([stored, sent], [[], []]);
  late.add("c");
  connections[1]!.resolve();
  assert.deepEqual(
    (await answers).map((one) => (one.status === "fulfilled" ? one.value : one.reason.message)),
    ["a!", "b is late", "c is late", "without a call!"],
  );
  assert.deepEqual([stored, sent], [[["a", "without a call"]], ["a"]]);
});
