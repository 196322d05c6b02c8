import assert from "node:assert/strict";
import { test } from "node:test";
import { createReading } from "./reading.ts";

/** Reads that the test answers. */
function answered(withinMs: number) {
  const reads: PromiseWithResolvers<number>[] = [];
  const problems: string[] = [];
  const clock = { nowMs: 0 };
  const reading = createReading<number>({
    ...{ withinMs, keepMs: 600_000, nowMs: () => clock.nowMs },
    read() {
      const answer = Promise.withResolvers<number>();
      reads.push(answer);
      return answer.promise;
    },
    onProblem: (error) => problems.push(error.message),
  });
  return { reads, problems, clock, reading };
}

test("a read in time gives its value", async () => {
  const { reads, reading } = answered(60_000);
  const taken = reading.take();
  reads[0]!.resolve(7);
  assert.deepEqual(await taken, { value: 7, ageSeconds: 0 });
});

test("a read that is late gives the last value with its age, and no second one begins meanwhile", async () => {
  const { reads, clock, reading } = answered(0);
  assert.equal(await reading.take(), undefined);
  assert.equal(await reading.take(), undefined);
  assert.equal(reads.length, 1);
  reads[0]!.resolve(7);
  await reads[0]!.promise;
  clock.nowMs = 30_000;
  assert.deepEqual(await reading.take(), { value: 7, ageSeconds: 30 });
  assert.deepEqual(await reading.take(), { value: 7, ageSeconds: 30 });
  assert.equal(reads.length, 2);
  // Its age counts from the moment at which it was asked for.
  clock.nowMs = 40_000;
  reads[1]!.resolve(9);
  await reads[1]!.promise;
  assert.deepEqual(await reading.take(), { value: 9, ageSeconds: 10 });
});

test("a failed read leaves the last value until it is too old", async () => {
  const { reads, problems, clock, reading } = answered(60_000);
  const first = reading.take();
  reads[0]!.resolve(7);
  await first;
  for (const [nowMs, expected] of [
    [600_000, { value: 7, ageSeconds: 600 }],
    [600_001, undefined],
  ] as const) {
    clock.nowMs = nowMs;
    const taken = reading.take();
    reads.at(-1)!.reject(new Error("no"));
    assert.deepEqual(await taken, expected);
  }
  assert.deepEqual(problems, ["no", "no"]);
});

test("a forgotten value is not given again", async () => {
  const { reads, reading } = answered(0);
  void reading.take();
  reads[0]!.resolve(7);
  await reads[0]!.promise;
  assert.equal((await reading.take())?.value, 7);
  reading.forget();
  assert.equal(await reading.take(), undefined);
});
