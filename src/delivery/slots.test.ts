import assert from "node:assert/strict";
import { test } from "node:test";
import { createSlots, type Owner } from "./slots.ts";

type Row = { n: number };
const limits = { working: 40, opening: 20, sockets: 400 };

const owner = (site: string, workspaceId = "w1", hesitant = false): Owner => ({ site, workspaceId, hesitant });

function start() {
  const slots = createSlots<Row>(limits);
  let n = 0;
  const take = (count: number, of: Owner) =>
    Array.from({ length: count }, () => {
      const row = { n: n++ };
      slots.take(row, { ...of, epoch: 0 });
      return row;
    });
  return { slots, take };
}

test("a site gets half of the working slots, and a workspace three quarters", () => {
  const { slots, take } = start();
  assert.equal(slots.left(owner("a.test")), 20);
  take(20, owner("a.test"));
  assert.equal(slots.left(owner("a.test")), 0);
  assert.equal(slots.left(owner("b.test")), 10);
  take(10, owner("b.test"));
  assert.equal(slots.left(owner("c.test")), 0);
  assert.equal(slots.left(owner("c.test", "w2")), 5);
});

test("rows that wait for their receiver do not take working slots", () => {
  const { slots, take } = start();
  const rows = [...take(20, owner("a.test")), ...take(10, owner("b.test"))];
  slots.setWaiting(rows, true);
  assert.equal(slots.left(owner("c.test")), 20);
  assert.deepEqual(slots.counts(), { working: 0, waiting: 30, hesitant: 0 });
  slots.setWaiting(rows, false);
  for (const row of rows) assert.equal(slots.give(row)?.epoch, 0);
  assert.equal(slots.give(rows[0]!), undefined);
  assert.deepEqual(slots.counts(), { working: 0, waiting: 0, hesitant: 0 });
});

test("hesitant sites hold at most half of the sockets, and one workspace half of that", () => {
  const { slots, take } = start();
  const fill = (workspaceId: string) => {
    let taken = 0;
    for (let i = 0; slots.left(owner(`${workspaceId}-${i}.test`, workspaceId, true)) > 0; i++) {
      slots.setWaiting(take(1, owner(`${workspaceId}-${i}.test`, workspaceId, true)), true);
      taken += 1;
    }
    return taken;
  };
  assert.equal(fill("w1"), 100);
  assert.equal(fill("w2"), 50);
  for (let i = 3; i < 30; i++) fill(`w${i}`);
  assert.ok(slots.counts().hesitant <= 200);
});

test("a workspace with its share of stuck rows gets one row at a time at each other site, and others all of theirs", () => {
  const { slots, take } = start();
  for (let i = 0; i < 100; i++) slots.setWaiting(take(1, owner(`hang${i}.test`, "w1", true)), true);
  assert.equal(slots.left(owner("new.test", "w1", true)), 0);
  assert.equal(slots.left(owner("good.test")), 1);
  take(1, owner("good.test"));
  assert.equal(slots.left(owner("good.test")), 0);
  assert.equal(slots.left(owner("good.test", "w2")), 19);
  assert.ok(slots.left(owner("new.test", "w2", true)) > 0);
});

test("rows of a site that stalls count as hesitant", () => {
  const { slots, take } = start();
  take(4, owner("a.test"));
  slots.setHesitant("a.test", true);
  assert.equal(slots.counts().hesitant, 4);
});

test("planned rows count until the plan ends", () => {
  const { slots } = start();
  slots.plan(owner("a.test"), 20);
  assert.equal(slots.left(owner("a.test")), 0);
  slots.endPlan();
  assert.equal(slots.left(owner("a.test")), 20);
});
