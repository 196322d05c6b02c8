import assert from "node:assert/strict";
import { test } from "node:test";
import { createSiteLimits } from "../rules/site.ts";
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
  /** Raises the ramp of a site to its limit. */
  const prove = (site: string, nowMs = 0) => {
    for (let i = 0; i < 10; i++) pace.observe(site, "ok", { startedMs: nowMs, nowMs });
  };
  return { pace, reports, prove };
}

test("a new site gets one recipient, and twice as many after each answer, up to its limit", () => {
  const { pace } = start();
  const capacities = Array.from({ length: 10 }, () => {
    const capacity = pace.capacity("a.test", 0);
    pace.observe("a.test", "ok", { startedMs: 0, nowMs: 0 });
    return capacity;
  });
  assert.deepEqual(capacities, [1, 2, 4, 8, 16, 32, 64, 80, 80, 80]);
});

test("a site that is down gets one probe after each back-off, and back-offs grow", () => {
  const { pace, reports } = start();
  pace.observe("dead.test", "down", { startedMs: 10, nowMs: 20, reply: "refused" });
  assert.equal(pace.capacity("dead.test", 20), 0);
  assert.equal(pace.capacityAtMs("dead.test", 20), 1020);
  assert.equal(pace.capacity("dead.test", 1020), 1);
  pace.observe("dead.test", "down", { startedMs: 1020, nowMs: 1030 });
  assert.equal(pace.capacityAtMs("dead.test", 1030), 5030);
  assert.deepEqual(
    reports.map(({ backOffMs, reply }) => [backOffMs, reply]),
    [
      [1000, "refused"],
      [4000, undefined],
    ],
  );
  pace.observe("dead.test", "ok", { startedMs: 5030, nowMs: 5040 });
  assert.equal(reports.at(-1)!.recovered, true);
  assert.ok(pace.capacity("dead.test", 5040) > 0);
});

test("simultaneous slow signals halve the allowance once, and success restores it", () => {
  const { pace, reports, prove } = start();
  prove("slow.test");
  assert.equal(pace.limitOf("slow.test").connections, 10);
  for (let i = 0; i < 5; i++) pace.observe("slow.test", "slow", { startedMs: 1500, nowMs: 2000 });
  assert.equal(pace.limitOf("slow.test").connections, 5);
  assert.equal(reports.length, 1);
  pace.observe("slow.test", "slow", { startedMs: 2500, nowMs: 3100 });
  assert.equal(pace.limitOf("slow.test").connections, 2);
  for (let i = 0; i < 60; i++) pace.observe("slow.test", "ok", { startedMs: 3200, nowMs: 3200 });
  assert.equal(pace.limitOf("slow.test").connections, 10);
  const growth = pace.takeGrowth().reduce((sum, report) => sum + report.growth, 0);
  assert.ok(growth >= 7.5, `${growth} connections earned`);
});

test("one lost connection does not back off a site that has answered since", () => {
  const { pace, prove } = start();
  prove("a.test", 5000);
  pace.observe("a.test", "down", { startedMs: 4000, nowMs: 6000 });
  assert.equal(pace.capacityAtMs("a.test", 6000), undefined);
  assert.equal(pace.limitOf("a.test").connections, 5);
});

test("the rate limit holds, and capacity returns as time passes", () => {
  const { pace, prove } = start({ "a.test": { connections: 10, perSecond: 2 } });
  prove("a.test");
  assert.equal(pace.capacity("a.test", 1000), 2);
  pace.leased("a.test", 2);
  pace.finished("a.test", 2);
  assert.equal(pace.capacity("a.test", 1000), 0);
  assert.equal(pace.capacityAtMs("a.test", 1000), 1500);
  assert.equal(pace.capacity("a.test", 1500), 1);
});

test("the shares of all nodes add up to the limit, and a single connection belongs to one node", () => {
  for (const [connections, nodes] of [
    [10, 3],
    [1, 4],
    [5, 5],
  ] as const) {
    const shares = Array.from({ length: nodes }, (_, rank) => {
      const { pace, prove } = start({ "a.test": { connections } });
      prove("a.test");
      pace.setNode({ rank, nodes });
      return pace.capacity("a.test", 0) / 8;
    });
    assert.equal(
      shares.reduce((sum, share) => sum + share, 0),
      connections,
    );
  }
});
