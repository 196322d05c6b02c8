import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { addSteps, type BrakeStep, isSuspended, judgeSteps } from "./brake.ts";

const good = (recipients: number): BrakeStep => ({ recipients, bounces: 0, complaints: 0 });
const bounced = (recipients: number, bounces: number): BrakeStep => ({ recipients, bounces, complaints: 0 });
const complained = (recipients: number, complaints: number): BrakeStep => ({ recipients, bounces: 0, complaints });
const many = (count: number, step: BrakeStep) => Array.from({ length: count }, () => step);

describe("the brake for bounces", () => {
  it("needs more than 10 % of the last 1,000 recipients", () => {
    assert.equal(judgeSteps(many(10, bounced(100, 10))), undefined);
    const over = judgeSteps([...many(9, bounced(100, 10)), bounced(100, 11)]);
    assert.deepEqual([over?.figure, over?.count, over?.recipients], ["bounces", 101, 1000]);
    assert.match(over!.message, /^101 of the last 1000 recipients bounced \(10\.1 %\)\. The limit is 10 %\.$/);
  });

  it("needs at least 100 bounces", () => {
    assert.equal(judgeSteps([bounced(99, 99)]), undefined);
    assert.equal(judgeSteps([bounced(100, 100)])?.count, 100);
  });

  it("forgets bounces that are more than 1,000 recipients ago", () => {
    const steps = addSteps(many(5, bounced(100, 100)), many(10, good(100)));
    assert.equal(judgeSteps(steps), undefined);
    assert.equal(judgeSteps(addSteps(many(5, bounced(100, 100)), many(8, good(100))))?.count, 200);
  });
});

describe("the brake for complaints", () => {
  it("needs more than 0.3 % of the last 10,000 recipients", () => {
    const steps = [...many(99, good(100)), complained(100, 30)];
    assert.equal(judgeSteps(steps), undefined);
    const over = judgeSteps([...many(99, good(100)), complained(100, 31)]);
    assert.deepEqual([over?.figure, over?.count, over?.recipients], ["complaints", 31, 10_000]);
    assert.match(over!.message, /\(0\.31 %\)\. The limit is 0\.3 %\.$/);
  });

  it("needs at least 10 complaints", () => {
    assert.equal(judgeSteps([complained(100, 9)]), undefined);
    assert.equal(judgeSteps([complained(100, 10)])?.count, 10);
  });
});

describe("one recipient domain", () => {
  const from = (domains: NonNullable<BrakeStep["domains"]>): BrakeStep => {
    const total = (i: 0 | 1) => Object.values(domains).reduce((all, counts) => all + counts[i], 0);
    return { recipients: 200, bounces: total(0), complaints: total(1), domains };
  };

  it("counts with at most 3 complaints and 30 bounces", () => {
    assert.equal(judgeSteps([from({ evil: [0, 50] })]), undefined);
    assert.equal(judgeSteps([from({ evil: [0, 50], a: [0, 2], b: [0, 2], c: [0, 2] })]), undefined);
    assert.equal(judgeSteps([from({ evil: [150, 0] })]), undefined);
    assert.equal(judgeSteps([from({ a: [30, 0], b: [30, 0], c: [30, 0], d: [10, 0] })])?.count, 100);
  });

  it("is found over all steps", () => {
    assert.equal(judgeSteps(many(10, from({ evil: [0, 2] }))), undefined);
    assert.equal(judgeSteps(many(10, from({ evil: [15, 0] }))), undefined);
  });

  it("counts with half as many as all others together, so that a large provider's complaints count", () => {
    assert.equal(judgeSteps([from({ large: [0, 60], b: [0, 20], c: [0, 8] })])?.count, 14 + 20 + 8);
  });

  it("is forgotten with the bounces that no brake looks at any more", () => {
    const steps = addSteps([from({ a: [9, 0], b: [3, 2] })], many(10, good(100)));
    assert.deepEqual(steps[0]!.domains, { b: [0, 2] });
  });
});

describe("steps", () => {
  it("have about 100 recipients, and those of the last 10,000 are kept", () => {
    const small = addSteps([], many(1000, good(7)));
    assert.ok(small.every(({ recipients }) => recipients < 200));
    assert.equal(
      small.reduce((sum, { recipients }) => sum + recipients, 0),
      7000,
    );
    const large = addSteps(small, many(300, good(100)));
    assert.equal(
      large.reduce((sum, { recipients }) => sum + recipients, 0),
      10_000,
    );
  });

  it("without recipients count for the current one", () => {
    assert.deepEqual(addSteps([good(50)], [complained(0, 3)]), [complained(50, 3)]);
  });
});

describe("the mode", () => {
  it("decides whose workspaces are suspended", () => {
    const newcomer = { fromSignUp: true };
    const other = { fromSignUp: false };
    assert.deepEqual([isSuspended("new", newcomer), isSuspended("new", other)], [true, false]);
    assert.deepEqual([isSuspended("all", newcomer), isSuspended("all", other)], [true, true]);
    assert.deepEqual([isSuspended("none", newcomer), isSuspended("none", other)], [false, false]);
  });
});
