import assert from "node:assert/strict";
import { test } from "node:test";
import { createLanes } from "./lanes.ts";

const lane = (destination: string, workspaceId: string, dueInMs = 0) => ({ destination, workspaceId, dueInMs });
const limits = { perDestination: 10, onTrial: 2, total: 100, perTurn: 4 };

test("lanes take turns: one served goes to the end, a new one comes first", () => {
  const lanes = createLanes(limits);
  lanes.replace([lane("a.test", "1"), lane("b.test", "1")], 0);
  assert.deepEqual(
    lanes.pick(0, 1).map((l) => l.destination),
    ["a.test"],
  );
  assert.deepEqual(
    lanes.pick(0, 1).map((l) => l.destination),
    ["b.test"],
  );
  lanes.replace([lane("a.test", "1"), lane("b.test", "1"), lane("c.test", "2")], 0);
  assert.deepEqual(
    lanes.pick(0, 3).map((l) => l.destination),
    ["c.test", "a.test", "b.test"],
  );
});

test("a destination gets no more than its room, whichever workspaces ask for it", () => {
  const lanes = createLanes(limits);
  lanes.replace([lane("a.test", "1"), lane("a.test", "2"), lane("a.test", "3")], 0);
  const picked = lanes.pick(0, 10);
  assert.deepEqual(
    picked.map((l) => l.quota),
    [4, 4, 2],
  );
  lanes.leased(
    picked,
    picked.flatMap((l) => Array.from({ length: l.quota }, () => l)),
  );
  assert.equal(lanes.inHand(), 10);
  assert.deepEqual(lanes.pick(0, 10), []);
  lanes.finished("a.test", 3);
  assert.deepEqual(
    lanes.pick(0, 10).map((l) => l.quota),
    [3],
  );
});

test("a lane that gave less than asked for rests until the store is looked at again", () => {
  const lanes = createLanes(limits);
  lanes.replace([lane("a.test", "1")], 0);
  const picked = lanes.pick(0, 10);
  lanes.leased(picked, [picked[0]!]);
  assert.deepEqual(lanes.pick(0, 10), []);
  lanes.replace([lane("a.test", "1")], 0);
  assert.equal(lanes.pick(0, 10).length, 1);
});

test("a lane that is due later is left alone until then", () => {
  const lanes = createLanes(limits);
  lanes.replace([lane("a.test", "1", 500)], 1000);
  assert.deepEqual(lanes.pick(1499, 10), []);
  assert.equal(lanes.nextDueMs(), 1500);
  assert.equal(lanes.pick(1500, 10).length, 1);
});

test("the node takes no more than it can hold", () => {
  const lanes = createLanes({ ...limits, total: 6 });
  lanes.replace([lane("a.test", "1"), lane("b.test", "1"), lane("c.test", "1")], 0);
  assert.deepEqual(
    lanes.pick(0, 10).map((l) => l.quota),
    [4, 2],
  );
});

test("a destination that could not be reached gets little room until it answers again", () => {
  const lanes = createLanes(limits);
  const quotas = () => lanes.pick(0, 10).map((l) => l.quota);
  lanes.replace([lane("dead.test", "1"), lane("dead.test", "2"), lane("well.test", "1")], 0);
  lanes.heard("dead.test", false);
  lanes.heard("well.test", undefined);
  assert.deepEqual(quotas(), [2, 4]);
  lanes.heard("dead.test", undefined);
  assert.deepEqual(quotas(), [2, 4]);
  lanes.heard("dead.test", true);
  assert.deepEqual(quotas(), [4, 4, 4]);
});
