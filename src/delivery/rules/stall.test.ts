import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultTimeouts } from "../../smtp/client/target.ts";
import { openingTimeouts, stallAfterMs, type Usual, withAnswer } from "./stall.ts";

test("a site stalls after several times its usual time, within bounds", () => {
  assert.equal(stallAfterMs({}, "dot"), 5_000);
  assert.equal(stallAfterMs({ dot: 10 }, "dot"), 2_000);
  assert.equal(stallAfterMs({ dot: 1_500 }, "dot"), 6_000);
  assert.equal(stallAfterMs({ dot: 500_000 }, "dot"), 30_000);
  assert.equal(stallAfterMs({ dot: 1_500 }, "open"), 5_000);
});

test("the usual time follows the answers of each step", () => {
  let usual: Usual = withAnswer({}, "open", 800);
  assert.deepEqual(usual, { open: 800 });
  usual = withAnswer(usual, "open", 1_600);
  assert.deepEqual(withAnswer(usual, "dot", 50), { open: 900, dot: 50 });
});

test("only a first attempt has shorter waits to open a session, and none below 30 s", () => {
  assert.deepEqual(openingTimeouts({}, 0), { bannerMs: 30_000, ehloMs: 30_000, tlsMs: 30_000 });
  assert.equal(openingTimeouts({ open: 20_000 }, 0)!.bannerMs, 80_000);
  assert.equal(openingTimeouts({ open: 20_000 }, 1), undefined);
  assert.ok(defaultTimeouts.connectMs >= 30_000, "the wait to connect does not adapt");
});
