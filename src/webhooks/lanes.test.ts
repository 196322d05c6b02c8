import assert from "node:assert/strict";
import { test } from "node:test";
import type { WebhookLane } from "../store/webhook-lease.ts";
import { createLanes, type LaneLimits } from "./lanes.ts";

const limits: LaneLimits = { perEndpoint: 6, total: 20, failingTotal: 3, perTurn: 5 };
const lane = (webhookId: string, extra: Partial<WebhookLane> = {}): WebhookLane => ({
  ...{ workspaceId: "w", webhookId, dueInMs: 0, state: "enabled", failing: false },
  ...extra,
});
const quotas = (picked: { webhookId: string; quota: number }[]) =>
  picked.map(({ webhookId, quota }) => [webhookId, quota]);
const rowsOf = (picked: { workspaceId: string; webhookId: string; quota: number }[]) =>
  picked.flatMap((one) => Array.from({ length: one.quota }, () => one));

test("webhooks are served in turn, each within its room, all within the node's", () => {
  const lanes = createLanes(limits);
  lanes.replace(
    ["a", "b", "c", "d", "e", "f"].map((id) => lane(id)),
    0,
  );
  const first = lanes.pick(0, 4);
  assert.deepEqual(quotas(first), [
    ["a", 4],
    ["b", 4],
    ["c", 4],
    ["d", 4],
  ]);
  lanes.leased(first, rowsOf(first));
  const second = lanes.pick(0, 4);
  assert.deepEqual(quotas(second), [["e", 4]], "who waits longest comes first; the node has room for four more");
  lanes.leased(second, rowsOf(second));
  assert.deepEqual(lanes.pick(0, 4), []);
  for (let i = 0; i < 4; i++) lanes.finished("e", true);
  assert.deepEqual(quotas(lanes.pick(0, 1)), [["f", 4]]);
});

test("room grows with answers up to the limit and halves with failures", () => {
  const lanes = createLanes(limits);
  const roomNow = () => {
    lanes.stir({ workspaceId: "w", webhookId: "a" }, 0);
    return lanes.pick(0, 1)[0]?.quota ?? 0;
  };
  const answer = (worked: boolean | undefined) => {
    lanes.leased([], [{ workspaceId: "w", webhookId: "a" }]);
    lanes.finished("a", worked);
  };
  assert.equal(roomNow(), 4);
  answer(true);
  assert.equal(roomNow(), 5);
  for (let i = 0; i < 9; i++) answer(true);
  lanes.leased([], [{ workspaceId: "w", webhookId: "a" }]);
  assert.equal(roomNow(), 5, "six in all, one of them under way");
  lanes.finished("a", undefined);
  answer(false);
  assert.equal(roomNow(), 3);
  for (let i = 0; i < 9; i++) answer(false);
  assert.equal(roomNow(), 1);
  answer(true);
  assert.equal(roomNow(), 2);
});

test("endpoints that only fail share a part of the room and leave the rest to the others", () => {
  const lanes = createLanes(limits);
  const dead = Array.from({ length: 10 }, (_, i) => lane(`dead${i}`, { failing: true }));
  lanes.replace([...dead, lane("live")], 0);
  const picked = lanes.pick(0, 99);
  assert.deepEqual(quotas(picked), [
    ["dead0", 1],
    ["dead1", 1],
    ["dead2", 1],
    ["live", 4],
  ]);
  lanes.leased(picked, rowsOf(picked));
  assert.deepEqual(lanes.pick(0, 99), [], "while they hang, no more of them are begun");
  lanes.finished("dead0", false);
  assert.deepEqual(quotas(lanes.pick(0, 99)), [["dead3", 1]]);
});

test("a webhook that gave less than asked for is left alone until it is stirred or found again", () => {
  const lanes = createLanes(limits);
  lanes.replace([lane("a"), lane("b", { dueInMs: 500 })], 1000);
  const picked = lanes.pick(1000, 9);
  assert.deepEqual(quotas(picked), [["a", 4]]);
  lanes.leased(picked, []);
  assert.equal(lanes.nextDueMs(), 1500);
  assert.deepEqual(lanes.pick(1200, 9), []);
  lanes.stir({ workspaceId: "w", webhookId: "a" }, 1200);
  assert.deepEqual(quotas(lanes.pick(1200, 9)), [["a", 4]]);
  assert.deepEqual(quotas(lanes.pick(1500, 9)), [
    ["b", 4],
    ["a", 4],
  ]);
});
