import assert from "node:assert/strict";
import { test } from "node:test";
import { createLeasedTokens, createTokenSource, type TokenSource } from "./leased-tokens.ts";

function setUp({ burst, periodMs }: { burst: number; periodMs: number }) {
  let now = 1000;
  const source = createTokenSource({ burst, periodMs, maxKeys: 100, nowMs: () => now });
  let asked = 0;
  const counted: TokenSource = {
    async lease(owner, wanted) {
      asked += 1;
      return source.lease(owner, wanted);
    },
    giveBack: source.giveBack,
  };
  const newProcess = () => createLeasedTokens({ burst, source: counted, nowMs: () => now });
  const pass = (ms: number) => {
    now += ms;
  };
  return { newProcess, pass, now: () => now, asked: () => asked };
}

test("two processes together grant exactly the burst, then one token per period", async () => {
  const { newProcess, pass, now } = setUp({ burst: 100, periodMs: 10 });
  const processes = [newProcess(), newProcess()];
  const takeAll = async (times: number) => {
    let taken = 0;
    for (let i = 0; i < times; i++) if ((await processes[i % 2]!.take("w", now())) === 0) taken += 1;
    return taken;
  };
  assert.equal(await takeAll(300), 100);
  pass(1000);
  assert.equal(await takeAll(300), 100);
  pass(100);
  assert.equal(await takeAll(300), 10);
});

test("a caller of one process gets the whole burst", async () => {
  const { newProcess, now } = setUp({ burst: 20, periodMs: 100 });
  const [one] = [newProcess(), newProcess()];
  const waits = [];
  for (let i = 0; i < 21; i++) waits.push(await one!.take("w", now()));
  assert.deepEqual(waits, [...Array(20).fill(0), 100]);
});

test("concurrent calls share a question, and a fast caller asks rarely", async () => {
  const { newProcess, now, asked } = setUp({ burst: 16_000, periodMs: 1 });
  const one = newProcess();
  const waits = await Promise.all(Array.from({ length: 500 }, () => one.take("w", now())));
  assert.deepEqual(new Set(waits), new Set([0]));
  for (let i = 0; i < 5000; i++) assert.equal(await one.take("w", now()), 0);
  assert.ok(asked() < 25, `${asked()} questions`);
});

test("after a refusal nothing is asked until the next token", async () => {
  const { newProcess, pass, now, asked } = setUp({ burst: 1, periodMs: 1000 });
  const one = newProcess();
  assert.equal(await one.take("w", now()), 0);
  assert.equal(await one.take("w", now()), 1000);
  const before = asked();
  pass(400);
  for (let i = 0; i < 100; i++) assert.equal(one.take("w", now()), 600);
  assert.equal(asked(), before);
});

test("tokens of an idle owner go back", async () => {
  const { newProcess, pass, now } = setUp({ burst: 64, periodMs: 1_000_000 });
  const [one, other] = [newProcess(), newProcess()];
  let taken = 0;
  for (let i = 0; i < 10; i++) taken += (await one.take("w", now())) === 0 ? 1 : 0;
  pass(10_000);
  one.giveBackIdle(now());
  for (let i = 0; i < 100; i++) taken += (await other.take("w", now())) === 0 ? 1 : 0;
  assert.equal(taken, 64);
});
