import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Problem } from "../rules/problem.ts";
import { createCounter, createSignInGuard } from "./attempts.ts";

const refusedFor = (work: () => void): number => {
  try {
    work();
    return 0;
  } catch (error) {
    assert.ok(error instanceof Problem && error.code === "resource_exhausted");
    return error.retryAfterMs!;
  }
};

describe("a counter", () => {
  it("gives its burst at once, then one in each period", () => {
    const counter = createCounter({ burst: 2, perMs: 1000 });
    for (const _ of [1, 2]) {
      counter.check("a", 0);
      counter.take("a", 0);
    }
    assert.equal(
      refusedFor(() => counter.check("a", 0)),
      1000,
    );
    assert.equal(
      refusedFor(() => counter.check("a", 400)),
      600,
    );
    counter.check("a", 1000);
    counter.check("b", 0);
  });

  it("is not led astray by a clock that goes back", () => {
    const counter = createCounter({ burst: 1, perMs: 1000 });
    counter.take("a", 10_000);
    assert.equal(
      refusedFor(() => counter.check("a", 0)),
      1000,
    );
  });

  it("gives back, and never more than it had", () => {
    const counter = createCounter({ burst: 1, perMs: 1000 });
    counter.take("a", 0);
    counter.give("a", 0);
    counter.give("a", 0);
    counter.check("a", 0);
    counter.take("a", 0);
    assert.notEqual(
      refusedFor(() => counter.check("a", 0)),
      0,
    );
  });

  it("forgets the oldest names when there are too many", () => {
    const counter = createCounter({ burst: 1, perMs: 1e9 });
    for (let i = 0; i < 20_001; i++) counter.take(`name ${i}`, 0);
    counter.check("name 0", 0);
    assert.notEqual(
      refusedFor(() => counter.check("name 20000", 0)),
      0,
    );
  });
});

describe("the guard of sign-in", () => {
  it("slows one place at one account early, and leaves the owner elsewhere alone", () => {
    const guard = createSignInGuard();
    const guesser = { email: "a@there.test", address: "192.0.2.1" };
    for (let i = 0; i < 8; i++) guard.failed(guesser, 0);
    assert.notEqual(
      refusedFor(() => guard.check(guesser, 0)),
      0,
    );
    guard.check({ email: "a@there.test", address: "192.0.2.2" }, 0);
    guard.check({ email: "b@there.test", address: "192.0.2.1" }, 0);
  });

  it("slows one place at many accounts, and one account from many places", () => {
    const guard = createSignInGuard();
    for (let i = 0; i < 40; i++) guard.failed({ email: `a${i}@there.test`, address: "192.0.2.1" }, 0);
    assert.notEqual(
      refusedFor(() => guard.check({ email: "new@there.test", address: "192.0.2.1" }, 0)),
      0,
    );
    for (let i = 0; i < 60; i++) guard.failed({ email: "a@there.test", address: `198.51.100.${i}` }, 0);
    assert.notEqual(
      refusedFor(() => guard.check({ email: "a@there.test", address: "203.0.113.1" }, 0)),
      0,
    );
  });

  it("takes the right password for no guess", () => {
    const guard = createSignInGuard();
    const owner = { email: "a@there.test", address: "192.0.2.1" };
    for (let i = 0; i < 100; i++) {
      guard.check(owner, 0);
      guard.failed(owner, 0);
      guard.forgive(owner, 0);
    }
  });
});
