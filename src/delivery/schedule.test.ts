import assert from "node:assert/strict";
import { test } from "node:test";
import { createSchedule, type Pace } from "./schedule.ts";

const lane = (destination: string, workspaceId: string, dueInMs = 0) => ({ destination, workspaceId, dueInMs });
const limits = { working: 100, opening: 50, sockets: 1000, perTurn: 4 };

/** A pace with the same capacity for each site. A destination is its own site unless `sites` maps it to another one. */
function paceOf(
  options: {
    capacity?: number;
    sites?: Record<string, string | undefined>;
    unproven?: string[];
    notBefore?: Record<string, number>;
  } = {},
): Pace {
  const inHand = new Map<string, number>();
  const { sites = {}, unproven = [], notBefore = {} } = options;
  return {
    siteOf: (destination) => (destination in sites ? sites[destination] : destination),
    capacity: (site, nowMs) =>
      (notBefore[site] ?? 0) > nowMs ? 0 : (options.capacity ?? 10) - (inHand.get(site) ?? 0),
    capacityAtMs: (site, nowMs) => ((notBefore[site] ?? 0) > nowMs ? notBefore[site] : undefined),
    unproven: (site) => unproven.includes(site),
    leased(site, recipients) {
      inHand.set(site, (inHand.get(site) ?? 0) + recipients);
      return 0;
    },
    finished: (site, recipients) => void inHand.set(site, inHand.get(site)! - recipients),
  };
}
const destinationsOf = (picked: { destination: string }[]) => picked.map(({ destination }) => destination);

test("lanes take turns: a served lane moves to the end, a new lane comes first", () => {
  const schedule = createSchedule(limits, paceOf());
  schedule.replace([lane("a.test", "1"), lane("b.test", "1")], 0);
  assert.deepEqual(destinationsOf(schedule.pick(0, 1)), ["a.test"]);
  assert.deepEqual(destinationsOf(schedule.pick(0, 1)), ["b.test"]);
  schedule.replace([lane("a.test", "1"), lane("b.test", "1"), lane("c.test", "2")], 0);
  assert.deepEqual(destinationsOf(schedule.pick(0, 3)), ["c.test", "a.test", "b.test"]);
});

test("a workspace with a thousand domains at one site gets every second turn next to another workspace", () => {
  const many = Array.from({ length: 1000 }, (_, i) => `d${i}.test`);
  const sites = Object.fromEntries([...many, "other.test"].map((name) => [name, "host.test"]));
  const schedule = createSchedule(limits, paceOf({ sites, capacity: 1000 }));
  schedule.replace([...many.map((name) => lane(name, "flood")), lane("other.test", "calm")], 0);
  assert.deepEqual(
    Array.from({ length: 4 }, () => schedule.pick(0, 1)[0]!).map((one) => [one.workspaceId, one.destination]),
    [
      ["flood", "d0.test"],
      ["calm", "other.test"],
      ["flood", "d1.test"],
      ["calm", "other.test"],
    ],
  );
});

test("a site's capacity is shared by all workspaces and domains at it", () => {
  const sites = { "a.test": "host.test", "b.test": "host.test", "c.test": "host.test" };
  const schedule = createSchedule(limits, paceOf({ sites }));
  schedule.replace([lane("a.test", "1"), lane("b.test", "2"), lane("c.test", "3")], 0);
  const picked = schedule.pick(0, 10);
  assert.deepEqual(
    picked.map((l) => l.quota),
    [4, 4, 2],
  );
  const rows = picked.flatMap((l) => Array.from({ length: l.quota }, () => ({ ...l })));
  schedule.leased(picked, rows);
  assert.equal(schedule.inHand(), 10);
  assert.deepEqual(schedule.pick(0, 10), []);
  schedule.finished(rows.slice(0, 3));
  assert.deepEqual(
    schedule.pick(0, 10).map((l) => l.quota),
    [3],
  );
});

test("a lane with fewer rows than its quota is skipped until a search or a hint names it", () => {
  const schedule = createSchedule(limits, paceOf());
  schedule.replace([lane("a.test", "1"), lane("b.test", "1")], 0);
  const [a, b] = schedule.pick(0, 10) as [ReturnType<typeof schedule.pick>[0], ReturnType<typeof schedule.pick>[0]];
  schedule.leased([a], [{ ...a }]);
  assert.deepEqual(destinationsOf(schedule.pick(0, 10)), ["b.test"]);
  schedule.hint([a], 0);
  assert.deepEqual(destinationsOf(schedule.pick(0, 10)), ["a.test", "b.test"]);
  schedule.leased([a, b], []);
  assert.deepEqual(schedule.pick(0, 10), []);
  schedule.replace([lane("a.test", "1")], 0);
  assert.deepEqual(destinationsOf(schedule.pick(0, 10)), ["a.test"]);
});

test("frequent hints do not give a lane earlier turns", () => {
  const schedule = createSchedule(limits, paceOf());
  schedule.replace([lane("a.test", "1"), lane("b.test", "2")], 0);
  assert.deepEqual(destinationsOf(schedule.pick(0, 1)), ["a.test"]);
  schedule.hint([lane("a.test", "1")], 0);
  assert.deepEqual(destinationsOf(schedule.pick(0, 1)), ["b.test"]);
});

test("a lane that is due later is not picked before then", () => {
  const schedule = createSchedule(limits, paceOf());
  schedule.replace([lane("a.test", "1", 500)], 1000);
  assert.deepEqual(schedule.pick(1499, 10), []);
  assert.equal(schedule.nextDueMs(1499), 1500);
  assert.equal(schedule.pick(1500, 10).length, 1);
});

test("a site without capacity is skipped, wakes the loop when it has capacity again, and does not delay others", () => {
  const schedule = createSchedule(limits, paceOf({ notBefore: { "dead.test": 900 } }));
  schedule.replace([lane("dead.test", "1"), lane("well.test", "1")], 0);
  assert.deepEqual(destinationsOf(schedule.pick(0, 10)), ["well.test"]);
  assert.equal(schedule.nextDueMs(0), 900);
  assert.deepEqual(schedule.blocked(0), [{ destination: "dead.test", workspaceId: "1" }]);
  assert.deepEqual(destinationsOf(schedule.pick(900, 10)), ["dead.test", "well.test"]);
});

test("a destination is picked as soon as its site is known", () => {
  const sites: Record<string, string | undefined> = { "new.test": undefined };
  const schedule = createSchedule(limits, paceOf({ sites }));
  schedule.replace([lane("new.test", "1"), lane("a.test", "1")], 0);
  assert.deepEqual(destinationsOf(schedule.pick(0, 10)), ["a.test"]);
  sites["new.test"] = "host.test";
  assert.deepEqual(destinationsOf(schedule.pick(0, 10)), ["a.test", "new.test"]);
});

test("picked lanes share the node's slots, and unproven sites get a part of them", () => {
  const few = { working: 8, opening: 4, sockets: 100, perTurn: 4 };
  const schedule = createSchedule(few, paceOf({ unproven: ["x.test", "y.test"] }));
  schedule.replace([lane("x.test", "1"), lane("y.test", "1"), lane("a.test", "1"), lane("b.test", "2")], 0);
  const picked = schedule.pick(0, 10);
  assert.deepEqual(
    picked.map((l) => [l.destination, l.quota]),
    [
      ["x.test", 3],
      ["a.test", 2],
      ["b.test", 1],
    ],
  );
});
