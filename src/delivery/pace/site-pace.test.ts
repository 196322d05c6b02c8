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
  assert.equal(pace.capacity("a.test", 0), 1);
  // One recipient stays in hand: the site is in use all the time.
  pace.leased("a.test", 1);
  const capacities = Array.from({ length: 9 }, () => {
    pace.observe("a.test", "ok", { startedMs: 0, nowMs: 0 });
    return 1 + pace.capacity("a.test", 0);
  });
  assert.deepEqual(capacities, [2, 4, 8, 16, 32, 64, 80, 80, 80]);
});

test("a known site that is idle starts with a few recipients, because it may have stopped answering", () => {
  const { pace, prove } = start();
  prove("a.test");
  assert.equal(pace.capacity("a.test", 2000), 4);
  const epoch = pace.leased("a.test", 4);
  assert.equal(pace.capacity("a.test", 2000), 0);
  pace.observe("a.test", "ok", { startedMs: 2000, nowMs: 2000 });
  pace.finished("a.test", 1, epoch);
  assert.equal(pace.capacity("a.test", 2000), 5);
});

test("a site that has taken all its mail gets twice as many as it has just taken, so that a fast one does not begin again each time", () => {
  const { pace, prove } = start();
  prove("a.test", -5000);
  let nowMs = 0;
  const leases = Array.from({ length: 6 }, () => {
    const count = pace.capacity("a.test", nowMs);
    const epoch = pace.leased("a.test", count);
    for (let i = 0; i < count; i++) pace.observe("a.test", "ok", { startedMs: nowMs, nowMs });
    pace.finished("a.test", count, epoch);
    nowMs += 80;
    return count;
  });
  assert.deepEqual(leases, [4, 8, 24, 72, 80, 80]);
  assert.equal(pace.capacity("a.test", nowMs + 2000), 4);
});

test("a slow site that has just taken one recipient gets a few, however many it took before", () => {
  const { pace, prove } = start();
  prove("a.test", -5000);
  for (let nowMs = 0; nowMs < 5000; nowMs += 500) {
    const epoch = pace.leased("a.test", 1);
    pace.observe("a.test", "ok", { startedMs: nowMs, nowMs });
    pace.finished("a.test", 1, epoch);
    assert.equal(pace.capacity("a.test", nowMs + 100), 4);
  }
});

test("a site that stalls gets one probe, whatever is stuck, and grows again from its first success", () => {
  const { pace, prove } = start();
  prove("a.test");
  const before = pace.leased("a.test", 4);
  assert.equal(pace.stall("a.test", 1000), true);
  assert.equal(pace.unproven("a.test"), true);
  assert.equal(pace.limitOf("a.test").connections, 11);
  assert.equal(pace.capacity("a.test", 1000), 1);
  const probe = pace.leased("a.test", 1);
  assert.equal(pace.stall("a.test", 9000), false, "the probe hangs as well");
  assert.equal(pace.capacity("a.test", 9000), 0);
  assert.equal(pace.stalledSinceMs("a.test"), 1000);
  pace.observe("a.test", "ok", { startedMs: 2000, nowMs: 9500 });
  pace.finished("a.test", 1, probe);
  assert.equal(pace.stalledSinceMs("a.test"), undefined);
  assert.equal(pace.capacity("a.test", 9500), 2);
  pace.finished("a.test", 4, before);
  assert.equal(pace.limitOf("a.test").connections, 10);
});

test("a site is silent when no session answers, not when one of them hangs", () => {
  const { pace } = start();
  const waited = { waitedMs: 3000, nowMs: 10_000 };
  pace.answered("a.test", "dot", { tookMs: 20, nowMs: 9500 });
  assert.equal(pace.isSilent("a.test", "dot", waited), false);
  assert.equal(pace.isSilent("a.test", "dot", { waitedMs: 3000, nowMs: 11_500 }), true);
  assert.equal(pace.isSilent("b.test", "dot", waited), false, "a site without history has more time");
});

test("knowledge about a site survives a restart", () => {
  const { pace, prove } = start();
  prove("known.test");
  pace.answered("known.test", "open", { tookMs: 700, nowMs: 0 });
  pace.leased("gone.test", 1);
  pace.stall("gone.test", 10);
  const known = pace.takeKnown(20);
  assert.deepEqual(known, [
    { site: "known.test", stalled: false, usual: { open: 700 } },
    { site: "gone.test", stalled: true, usual: {} },
  ]);
  assert.deepEqual(pace.takeKnown(30), [], "nothing new");
  const after = start().pace;
  const row = { allowance: null, failures: 0, backOffMs: 0, changedAt: "" };
  after.adopt(
    known.map(({ site, stalled, usual }) => ({ ...row, site, stalled, usual, answered: !stalled })),
    50,
  );
  assert.equal(after.unproven("known.test"), false);
  assert.deepEqual(after.usualOf("known.test"), { open: 700 });
  assert.equal(after.unproven("gone.test"), true);
  assert.equal(after.stalledSinceMs("gone.test"), 50);
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
  pace.finished("a.test", 2, 0);
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
      pace.leased("a.test", 4);
      prove("a.test");
      return (pace.capacity("a.test", 0) + 4) / 8;
    });
    assert.equal(
      shares.reduce((sum, share) => sum + share, 0),
      connections,
    );
  }
});
