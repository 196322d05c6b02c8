import assert from "node:assert/strict";
import { test } from "node:test";
import { createAnswerLimit, isLoopback, networkOf } from "./rate-limit.ts";

test("a network gets a burst and then its rate; above it, every second query is truncated and the others dropped", () => {
  let now = 0;
  const limit = createAnswerLimit({ answersPerSecond: 2, burst: 3, networks: 10, now: () => now });
  const judge = (count: number, address = "192.0.2.1") => Array.from({ length: count }, () => limit.judge(address));
  assert.deepEqual(judge(6), ["answer", "answer", "answer", "drop", "slip", "drop"]);
  assert.deepEqual(judge(1, "192.0.2.200"), ["slip"]);
  assert.deepEqual(judge(1, "192.0.3.1"), ["answer"]);
  now = 1000;
  assert.deepEqual(judge(3), ["answer", "answer", "drop"]);
  now = 60_000;
  assert.deepEqual(judge(4), ["answer", "answer", "answer", "slip"]);
});

test("the number of networks in memory is bounded", () => {
  const limit = createAnswerLimit({ answersPerSecond: 1, burst: 1, networks: 2, now: () => 0 });
  for (const address of ["192.0.2.1", "198.51.100.1", "203.0.113.1"]) assert.equal(limit.judge(address), "answer");
  assert.equal(limit.judge("192.0.2.1"), "answer");
  assert.equal(limit.judge("203.0.113.1"), "drop");
});

test("neighboring addresses share a network, in IPv4, in IPv6 and in the mapped form", () => {
  assert.equal(networkOf("192.0.2.1"), networkOf("::ffff:192.0.2.99"));
  assert.equal(networkOf("2001:db8:1:2::1"), networkOf("2001:db8:1:ff::1"));
  assert.notEqual(networkOf("2001:db8:1:2::1"), networkOf("2001:db8:1:100::1"));
  assert.equal(networkOf("fe80::1%eth0"), networkOf("fe80::2"));
  assert.deepEqual(["127.0.0.9", "::1", "::ffff:127.0.0.1", "192.0.2.1"].map(isLoopback), [true, true, true, false]);
});
