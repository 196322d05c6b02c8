import assert from "node:assert/strict";
import { test } from "node:test";
import { createLanes, type Pace } from "./lanes.ts";

const lane = (destination: string, workspaceId: string, dueInMs = 0) => ({ destination, workspaceId, dueInMs });
const limits = { total: 100, unproven: 50, perTurn: 4 };

/** Sites with this much room each; a destination is its own site unless the table says otherwise. */
function paceOf(
  options: {
    room?: number;
    sites?: Record<string, string | undefined>;
    unproven?: string[];
    notBefore?: Record<string, number>;
  } = {},
): Pace {
  const inHand = new Map<string, number>();
  const { sites = {}, unproven = [], notBefore = {} } = options;
  return {
    siteOf: (destination) => (destination in sites ? sites[destination] : destination),
    room: (site, nowMs) => ((notBefore[site] ?? 0) > nowMs ? 0 : (options.room ?? 10) - (inHand.get(site) ?? 0)),
    roomAtMs: (site, nowMs) => ((notBefore[site] ?? 0) > nowMs ? notBefore[site] : undefined),
    unproven: (site) => unproven.includes(site),
    took: (site, recipients) => void inHand.set(site, (inHand.get(site) ?? 0) + recipients),
    gave: (site, recipients) => void inHand.set(site, inHand.get(site)! - recipients),
  };
}
const named = (picked: { destination: string }[]) => picked.map((one) => one.destination);

test("lanes take turns: one served goes to the end, a new one comes first", () => {
  const lanes = createLanes(limits, paceOf());
  lanes.replace([lane("a.test", "1"), lane("b.test", "1")], 0);
  assert.deepEqual(named(lanes.pick(0, 1)), ["a.test"]);
  assert.deepEqual(named(lanes.pick(0, 1)), ["b.test"]);
  lanes.replace([lane("a.test", "1"), lane("b.test", "1"), lane("c.test", "2")], 0);
  assert.deepEqual(named(lanes.pick(0, 3)), ["c.test", "a.test", "b.test"]);
});

test("a thousand domains of one workspace at one site are one lane: another workspace there has every second turn", () => {
  const many = Array.from({ length: 1000 }, (_, i) => `d${i}.test`);
  const sites = Object.fromEntries([...many, "other.test"].map((name) => [name, "host.test"]));
  const lanes = createLanes(limits, paceOf({ sites, room: 1000 }));
  lanes.replace([...many.map((name) => lane(name, "flood")), lane("other.test", "calm")], 0);
  assert.deepEqual(
    Array.from({ length: 4 }, () => lanes.pick(0, 1)[0]!).map((one) => [one.workspaceId, one.destination]),
    [
      ["flood", "d0.test"],
      ["calm", "other.test"],
      ["flood", "d1.test"],
      ["calm", "other.test"],
    ],
  );
});

test("a site gets no more than its room, whichever workspaces and domains ask for it", () => {
  const sites = { "a.test": "host.test", "b.test": "host.test", "c.test": "host.test" };
  const lanes = createLanes(limits, paceOf({ sites }));
  lanes.replace([lane("a.test", "1"), lane("b.test", "2"), lane("c.test", "3")], 0);
  const picked = lanes.pick(0, 10);
  assert.deepEqual(
    picked.map((l) => l.quota),
    [4, 4, 2],
  );
  const rows = picked.flatMap((l) => Array.from({ length: l.quota }, () => ({ ...l })));
  lanes.leased(picked, rows);
  assert.equal(lanes.inHand(), 10);
  assert.deepEqual(lanes.pick(0, 10), []);
  lanes.finished(rows.slice(0, 3));
  assert.deepEqual(
    lanes.pick(0, 10).map((l) => l.quota),
    [3],
  );
});

test("a destination that gave less than asked for rests until the store is looked at again, or somebody says there is mail", () => {
  const lanes = createLanes(limits, paceOf());
  lanes.replace([lane("a.test", "1"), lane("b.test", "1")], 0);
  const [a, b] = lanes.pick(0, 10) as [ReturnType<typeof lanes.pick>[0], ReturnType<typeof lanes.pick>[0]];
  lanes.leased([a], [{ ...a }]);
  assert.deepEqual(named(lanes.pick(0, 10)), ["b.test"]);
  lanes.hint([a], 0);
  assert.deepEqual(named(lanes.pick(0, 10)), ["a.test", "b.test"]);
  lanes.leased([a, b], []);
  assert.deepEqual(lanes.pick(0, 10), []);
  lanes.replace([lane("a.test", "1")], 0);
  assert.deepEqual(named(lanes.pick(0, 10)), ["a.test"]);
});

test("saying often that there is mail gives nobody an earlier turn", () => {
  const lanes = createLanes(limits, paceOf());
  lanes.replace([lane("a.test", "1"), lane("b.test", "2")], 0);
  assert.deepEqual(named(lanes.pick(0, 1)), ["a.test"]);
  lanes.hint([lane("a.test", "1")], 0);
  assert.deepEqual(named(lanes.pick(0, 1)), ["b.test"]);
});

test("a lane that is due later is left alone until then", () => {
  const lanes = createLanes(limits, paceOf());
  lanes.replace([lane("a.test", "1", 500)], 1000);
  assert.deepEqual(lanes.pick(1499, 10), []);
  assert.equal(lanes.nextDueMs(1499), 1500);
  assert.equal(lanes.pick(1500, 10).length, 1);
});

test("a site that is left alone is not asked, wakes us when its time comes, and keeps nobody else waiting", () => {
  const lanes = createLanes(limits, paceOf({ notBefore: { "dead.test": 900 } }));
  lanes.replace([lane("dead.test", "1"), lane("well.test", "1")], 0);
  assert.deepEqual(named(lanes.pick(0, 10)), ["well.test"]);
  assert.equal(lanes.nextDueMs(0), 900);
  assert.deepEqual(lanes.waiting(0), [{ destination: "dead.test", workspaceId: "1" }]);
  assert.deepEqual(named(lanes.pick(900, 10)), ["dead.test", "well.test"]);
});

test("a destination whose site is not known yet waits for that alone", () => {
  const sites: Record<string, string | undefined> = { "new.test": undefined };
  const lanes = createLanes(limits, paceOf({ sites }));
  lanes.replace([lane("new.test", "1"), lane("a.test", "1")], 0);
  assert.deepEqual(named(lanes.pick(0, 10)), ["a.test"]);
  sites["new.test"] = "host.test";
  assert.deepEqual(named(lanes.pick(0, 10)), ["a.test", "new.test"]);
});

test("the node takes no more than it can hold, and no more than a part of it for sites that have not answered", () => {
  const lanes = createLanes({ total: 6, unproven: 3, perTurn: 4 }, paceOf({ unproven: ["x.test", "y.test"] }));
  lanes.replace([lane("x.test", "1"), lane("y.test", "1"), lane("a.test", "1"), lane("b.test", "1")], 0);
  const picked = lanes.pick(0, 10);
  assert.deepEqual(
    picked.map((l) => [l.destination, l.quota]),
    [
      ["x.test", 3],
      ["a.test", 3],
    ],
  );
});
