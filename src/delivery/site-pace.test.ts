import assert from "node:assert/strict";
import { test } from "node:test";
import { createSiteLimits } from "../rules/site-limits.ts";
import type { SiteReport } from "../store/sites.ts";
import { createSitePace } from "./site-pace.ts";

function start(overrides: Record<string, { connections: number; perSecond?: number }> = {}) {
  const reports: SiteReport[] = [];
  const pace = createSitePace({
    limits: createSiteLimits(new Map(Object.entries(overrides))),
    scheduleMs: [1000, 4000],
    random: () => 0.5,
    report: (report) => reports.push(report),
  });
  /** A site that has answered often enough to be trusted. */
  const prove = (site: string, nowMs = 0) => {
    for (let i = 0; i < 10; i++) pace.heard(site, "well", { startedMs: nowMs, nowMs });
  };
  return { pace, reports, prove };
}

test("a new site gets one recipient, and twice as many after each answer up to its limit", () => {
  const { pace } = start();
  const rooms = Array.from({ length: 10 }, () => {
    const room = pace.room("a.test", 0);
    pace.heard("a.test", "well", { startedMs: 0, nowMs: 0 });
    return room;
  });
  assert.deepEqual(rooms, [1, 2, 4, 8, 16, 32, 64, 80, 80, 80]);
});

test("a dead site costs one probe, then one more each time it was left alone, for longer and longer", () => {
  const { pace, reports } = start();
  pace.heard("dead.test", "down", { startedMs: 10, nowMs: 20, reply: "refused" });
  assert.equal(pace.room("dead.test", 20), 0);
  assert.equal(pace.roomAtMs("dead.test", 20), 1020);
  assert.equal(pace.room("dead.test", 1020), 1);
  pace.heard("dead.test", "down", { startedMs: 1020, nowMs: 1030 });
  assert.equal(pace.roomAtMs("dead.test", 1030), 5030);
  assert.deepEqual(
    reports.map(({ backOffMs, reply }) => [backOffMs, reply]),
    [
      [1000, "refused"],
      [4000, undefined],
    ],
  );
  pace.heard("dead.test", "well", { startedMs: 5030, nowMs: 5040 });
  assert.equal(reports.at(-1)!.well, true);
  assert.ok(pace.room("dead.test", 5040) > 0);
});

test("a site that asks for less is cut to half, once for all that is heard together, and earns it back by success", () => {
  const { pace, reports, prove } = start();
  prove("slow.test");
  assert.equal(pace.limitOf("slow.test").connections, 10);
  for (let i = 0; i < 5; i++) pace.heard("slow.test", "slow", { startedMs: 1500, nowMs: 2000 });
  assert.equal(pace.limitOf("slow.test").connections, 5);
  assert.equal(reports.length, 1);
  pace.heard("slow.test", "slow", { startedMs: 2500, nowMs: 3100 });
  assert.equal(pace.limitOf("slow.test").connections, 2);
  for (let i = 0; i < 60; i++) pace.heard("slow.test", "well", { startedMs: 3200, nowMs: 3200 });
  assert.equal(pace.limitOf("slow.test").connections, 10);
  const growth = pace.takeGrowth().reduce((sum, report) => sum + report.growth, 0);
  assert.ok(growth >= 7.5, `${growth} connections earned`);
});

test("one connection lost among others that work is no reason to leave the site alone", () => {
  const { pace, prove } = start();
  prove("a.test", 5000);
  pace.heard("a.test", "down", { startedMs: 4000, nowMs: 6000 });
  assert.equal(pace.roomAtMs("a.test", 6000), undefined);
  assert.equal(pace.limitOf("a.test").connections, 5);
});

test("messages per second are kept, and time alone gives room again", () => {
  const { pace, prove } = start({ "a.test": { connections: 10, perSecond: 2 } });
  prove("a.test");
  assert.equal(pace.room("a.test", 1000), 2);
  pace.took("a.test", 2);
  pace.gave("a.test", 2);
  assert.equal(pace.room("a.test", 1000), 0);
  assert.equal(pace.roomAtMs("a.test", 1000), 1500);
  assert.equal(pace.room("a.test", 1500), 1);
});

test("nodes share a limit: their parts add up to it, and one connection is one node's", () => {
  for (const [connections, nodes] of [
    [10, 3],
    [1, 4],
    [5, 5],
  ] as const) {
    const parts = Array.from({ length: nodes }, (_, rank) => {
      const { pace, prove } = start({ "a.test": { connections } });
      prove("a.test");
      pace.join({ rank, nodes });
      return pace.room("a.test", 0) / 8;
    });
    assert.equal(
      parts.reduce((sum, part) => sum + part, 0),
      connections,
    );
  }
});
