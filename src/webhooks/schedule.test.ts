import assert from "node:assert/strict";
import { test } from "node:test";
import { createWebhookSchedule, type WebhookLimits } from "./schedule.ts";
import type { WaitingWebhook } from "./store/lease.ts";

const limits: WebhookLimits = {
  perEndpoint: 6,
  total: 20,
  failingTotal: 3,
  perTurn: 5,
  shareFactor: Number.POSITIVE_INFINITY,
};
const webhook = (webhookId: string, extra: Partial<WaitingWebhook> = {}): WaitingWebhook => ({
  workspaceId: "w",
  webhookId,
  dueInMs: 0,
  state: "enabled",
  failing: false,
  ...extra,
});
const quotas = (picked: { webhookId: string; quota: number }[]) =>
  picked.map(({ webhookId, quota }) => [webhookId, quota]);
const rowsOf = (picked: { workspaceId: string; webhookId: string; quota: number }[]) =>
  picked.flatMap((one) => Array.from({ length: one.quota }, () => one));

test("webhooks take turns within the slots of each endpoint and of the node", () => {
  const schedule = createWebhookSchedule(limits);
  schedule.replace(
    ["a", "b", "c", "d", "e", "f"].map((id) => webhook(id)),
    0,
  );
  const first = schedule.pick(0, 4);
  assert.deepEqual(quotas(first), [
    ["a", 4],
    ["b", 4],
    ["c", 4],
    ["d", 4],
  ]);
  schedule.leased(first, rowsOf(first));
  const second = schedule.pick(0, 4);
  assert.deepEqual(
    quotas(second),
    [["e", 4]],
    "the webhook that waited longest comes first; the node has four slots left",
  );
  schedule.leased(second, rowsOf(second));
  assert.deepEqual(schedule.pick(0, 4), []);
  for (let i = 0; i < 4; i++) schedule.finished("e", true);
  assert.deepEqual(quotas(schedule.pick(0, 1)), [["f", 4]]);
});

test("an endpoint gains a slot per success up to the limit, and a failure halves its slots", () => {
  const schedule = createWebhookSchedule(limits);
  const freeSlots = () => {
    schedule.recheck({ workspaceId: "w", webhookId: "a" }, 0);
    return schedule.pick(0, 1)[0]?.quota ?? 0;
  };
  const finish = (worked: boolean | undefined) => {
    schedule.leased([], [{ workspaceId: "w", webhookId: "a" }]);
    schedule.finished("a", worked);
  };
  assert.equal(freeSlots(), 4);
  finish(true);
  assert.equal(freeSlots(), 5);
  for (let i = 0; i < 9; i++) finish(true);
  schedule.leased([], [{ workspaceId: "w", webhookId: "a" }]);
  assert.equal(freeSlots(), 5, "six slots, one of them in use");
  schedule.finished("a", undefined);
  finish(false);
  assert.equal(freeSlots(), 3);
  for (let i = 0; i < 9; i++) finish(false);
  assert.equal(freeSlots(), 1);
  finish(true);
  assert.equal(freeSlots(), 2);
});

test("failing endpoints share a part of the node's slots and leave the rest to the others", () => {
  const schedule = createWebhookSchedule(limits);
  const dead = Array.from({ length: 10 }, (_, i) => webhook(`dead${i}`, { failing: true }));
  schedule.replace([...dead, webhook("live")], 0);
  const picked = schedule.pick(0, 99);
  assert.deepEqual(quotas(picked), [
    ["dead0", 1],
    ["dead1", 1],
    ["dead2", 1],
    ["live", 4],
  ]);
  schedule.leased(picked, rowsOf(picked));
  assert.deepEqual(schedule.pick(0, 99), [], "no more requests to failing endpoints while these are in progress");
  schedule.finished("dead0", false);
  assert.deepEqual(quotas(schedule.pick(0, 99)), [["dead3", 1]]);
});

test("a webhook with fewer deliveries than its quota is skipped until a recheck or a search names it", () => {
  const schedule = createWebhookSchedule(limits);
  schedule.replace([webhook("a"), webhook("b", { dueInMs: 500 })], 1000);
  const picked = schedule.pick(1000, 9);
  assert.deepEqual(quotas(picked), [["a", 4]]);
  schedule.leased(picked, []);
  assert.equal(schedule.nextDueMs(), 1500);
  assert.deepEqual(schedule.pick(1200, 9), []);
  schedule.recheck({ workspaceId: "w", webhookId: "a" }, 1200);
  assert.deepEqual(quotas(schedule.pick(1200, 9)), [["a", 4]]);
  assert.deepEqual(quotas(schedule.pick(1500, 9)), [
    ["b", 4],
    ["a", 4],
  ]);
});

test("a workspace with many hanging endpoints leaves slots to another workspace, also at failing endpoints", () => {
  const schedule = createWebhookSchedule({ ...limits, total: 40, failingTotal: 20, shareFactor: 1 });
  const hanging = Array.from({ length: 20 }, (_, i) => webhook(`hanging ${i}`, { workspaceId: "flood" }));
  const failing = Array.from({ length: 20 }, (_, i) => webhook(`dead ${i}`, { workspaceId: "dead", failing: true }));
  schedule.replace([...hanging, ...failing], 0);
  const picked = schedule.pick(0, 100);
  schedule.leased(picked, rowsOf(picked));
  const held = (workspaceId: string) =>
    picked.filter((one) => one.workspaceId === workspaceId).reduce((sum, { quota }) => sum + quota, 0);
  assert.deepEqual([held("flood"), held("dead")], [20, 10]);
  const calm = { workspaceId: "calm" };
  schedule.replace([webhook("fine", calm), webhook("broken", { ...calm, failing: true }), ...hanging, ...failing], 0);
  assert.deepEqual(quotas(schedule.pick(0, 100)), [
    ["fine", 4],
    ["broken", 1],
  ]);
});
