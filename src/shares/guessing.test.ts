import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Problem } from "../ops/problem.ts";
import { createSignInGuard } from "../people/guards.ts";
import { createAttemptLimit, createClientLimit } from "./guessing.ts";

const waitOf = (work: () => void): number => {
  try {
    work();
    return 0;
  } catch (error) {
    assert.ok(error instanceof Problem && error.code === "resource_exhausted");
    return error.retryAfterMs!;
  }
};

describe("an attempt limit", () => {
  it("allows a burst at once, then one attempt per period", () => {
    const limit = createAttemptLimit({ burst: 2, periodMs: 1000 });
    for (const _ of [1, 2]) {
      limit.check("a", 0);
      limit.take("a", 0);
    }
    assert.equal(
      waitOf(() => limit.check("a", 0)),
      1000,
    );
    assert.equal(
      waitOf(() => limit.check("a", 400)),
      600,
    );
    limit.check("a", 1000);
    limit.check("b", 0);
  });

  it("is not affected by a clock that goes backwards", () => {
    const limit = createAttemptLimit({ burst: 1, periodMs: 1000 });
    limit.take("a", 10_000);
    assert.equal(
      waitOf(() => limit.check("a", 0)),
      1000,
    );
  });

  it("gives attempts back, but never more than the burst", () => {
    const limit = createAttemptLimit({ burst: 1, periodMs: 1000 });
    limit.take("a", 0);
    limit.giveBack("a", 0);
    limit.giveBack("a", 0);
    limit.check("a", 0);
    limit.take("a", 0);
    assert.notEqual(
      waitOf(() => limit.check("a", 0)),
      0,
    );
  });

  it("drops the oldest keys when there are too many", () => {
    const limit = createAttemptLimit({ burst: 1, periodMs: 1e9 });
    for (let i = 0; i < 20_001; i++) limit.take(`key ${i}`, 0);
    limit.check("key 0", 0);
    assert.notEqual(
      waitOf(() => limit.check("key 20000", 0)),
      0,
    );
  });
});

describe("a client limit", () => {
  const isFull = (limit: ReturnType<typeof createClientLimit>, address: string) =>
    waitOf(() => limit.check(address, 0)) > 0;

  it("counts an IPv6 address with its /64, and four times as much with its /56", () => {
    const limit = createClientLimit({ burst: 2, periodMs: 1000 });
    for (let i = 0; i < 2; i++) limit.take(`2001:db8:0:100::${i}`, 0);
    assert.ok(isFull(limit, "2001:db8:0:100::9"), "the same /64");
    assert.ok(!isFull(limit, "2001:db8:0:101::1"), "another /64");
    for (let i = 1; i < 7; i++) limit.take(`2001:db8:0:10${i}::1`, 0);
    assert.ok(isFull(limit, "2001:db8:0:1ff::1"), "the same /56");
    assert.ok(!isFull(limit, "2001:db8:0:200::1"), "another /56");
  });

  it("counts an IPv4 address alone", () => {
    const limit = createClientLimit({ burst: 1, periodMs: 1000 });
    limit.take("192.0.2.1", 0);
    assert.ok(isFull(limit, "::ffff:192.0.2.1"));
    assert.ok(!isFull(limit, "192.0.2.2"));
    limit.giveBack("192.0.2.1", 0);
    assert.ok(!isFull(limit, "192.0.2.1"));
  });
});

describe("the sign-in guard", () => {
  it("limits one address on one account early, without affecting the owner elsewhere", () => {
    const guard = createSignInGuard();
    const guesser = { account: "a@there.test", address: "192.0.2.1" };
    for (let i = 0; i < 8; i++) guard.take(guesser, 0);
    assert.notEqual(
      waitOf(() => guard.check(guesser, 0)),
      0,
    );
    guard.check({ account: "a@there.test", address: "192.0.2.2" }, 0);
    guard.check({ account: "b@there.test", address: "192.0.2.1" }, 0);
  });

  it("limits one address on many accounts, and many addresses on one account", () => {
    const guard = createSignInGuard();
    for (let i = 0; i < 40; i++) guard.take({ account: `a${i}@there.test`, address: "192.0.2.1" }, 0);
    assert.notEqual(
      waitOf(() => guard.check({ account: "new@there.test", address: "192.0.2.1" }, 0)),
      0,
    );
    for (let i = 0; i < 60; i++) guard.take({ account: "a@there.test", address: `198.51.100.${i}` }, 0);
    assert.notEqual(
      waitOf(() => guard.check({ account: "a@there.test", address: "203.0.113.1" }, 0)),
      0,
    );
  });

  it("does not count a correct password", () => {
    const guard = createSignInGuard();
    const owner = { account: "a@there.test", address: "192.0.2.1" };
    for (let i = 0; i < 100; i++) {
      guard.check(owner, 0);
      guard.take(owner, 0);
      guard.giveBack(owner, 0);
    }
  });
});
