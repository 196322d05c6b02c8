import assert from "node:assert/strict";
import { test } from "node:test";
import { createEndpoints } from "./endpoints.ts";
import { createHand, type HeldRow } from "./hand.ts";
import { createWebhookSchedule } from "./schedule.ts";
import type { WaitingWebhook } from "./store/lease.ts";

const webhook = (webhookId: string, extra: Partial<WaitingWebhook> = {}): WaitingWebhook => ({
  workspaceId: "w",
  webhookId,
  dueInMs: 0,
  state: "enabled",
  failing: false,
  ...extra,
});
const ref = (webhookId: string) => ({ workspaceId: "w", webhookId });
const rowsOf = (picked: { webhookId: string; quota: number }[]): HeldRow[] =>
  picked.flatMap(({ webhookId, quota }) =>
    Array.from({ length: quota }, () => ({ ...ref(webhookId), attempts: 0, emailId: null })),
  );

function start({ perLease = 100, held = 1000 } = {}) {
  const endpoints = createEndpoints({ perEndpoint: 6, perWindow: 50 });
  const hand = createHand<HeldRow>(endpoints, {
    total: 100,
    failingTotal: 50,
    held,
    shareFactor: Number.POSITIVE_INFINITY,
  });
  const schedule = createWebhookSchedule({ perTurn: 40, perLease, events: 500 }, { hand, endpoints });
  const hold = (rows: HeldRow[], nowMs = 0) => {
    for (const row of rows) hand.add(row, nowMs, () => {});
    hand.serve();
    return rows;
  };
  return {
    endpoints,
    hand,
    schedule,
    hold,
    quotas: (nowMs: number, count: number) => {
      const picked = schedule.pick(nowMs, count);
      schedule.leased(picked, hold(rowsOf(picked), nowMs));
      return picked.map(({ webhookId, quota }) => [webhookId, quota]);
    },
    /** The endpoint takes rows. */
    take(rows: HeldRow[], nowMs: number) {
      for (const row of rows) {
        hand.attempted(row, { worked: true }, nowMs);
        hand.serve();
        hand.finished(row);
      }
    },
    known: (nowMs: number) =>
      schedule.followRooms(nowMs).known.map(({ webhookId, room, events }) => [webhookId, room, events]),
  };
}

test("webhooks take turns, within their room and that of a statement", () => {
  const { schedule, quotas } = start({ perLease: 10 });
  schedule.replace(
    ["a", "b", "c"].map((id) => webhook(id)),
    0,
  );
  assert.deepEqual(quotas(0, 2), [
    ["a", 4],
    ["b", 4],
  ]);
  schedule.replace(
    ["a", "b", "c", "new", "last"].map((id) => webhook(id)),
    0,
  );
  assert.deepEqual(quotas(0, 9), [
    ["new", 4],
    ["last", 4],
    ["c", 2],
  ]);
});

test("no more rows are leased than the node may hold", () => {
  const { schedule, quotas } = start({ held: 6 });
  schedule.replace([webhook("a"), webhook("b"), webhook("c")], 0);
  assert.deepEqual(quotas(0, 9), [
    ["a", 4],
    ["b", 2],
  ]);
});

test("a webhook without rows is skipped until a recheck or a search names it; one with a few is tried again", () => {
  const { schedule, hold, take } = start();
  schedule.replace([webhook("a"), webhook("b", { dueInMs: 500 })], 1000);
  const picked = schedule.pick(1000, 9);
  const [row] = hold(rowsOf([{ webhookId: "a", quota: 1 }]));
  schedule.leased(picked, [row!]);
  take([row!], 1000);
  const again = schedule.pick(1000, 9);
  assert.equal(again.length, 1, "an event that waited for the row may be free");
  schedule.leased(again, []);
  assert.deepEqual(schedule.pick(1200, 9), []);
  assert.equal(schedule.nextDueMs(), 1500);
  schedule.recheck(ref("a"), 1200);
  assert.deepEqual(schedule.pick(1200, 9), [], "not at once: one look serves many rows");
  assert.equal(schedule.pick(1300, 9)[0]?.webhookId, "a");
});

test("a webhook with rows in hand gets more only when there are enough to lease, or when it has none to post", () => {
  const { schedule, hold, take, endpoints } = start();
  const rows = hold(rowsOf([{ webhookId: "a", quota: 20 }]));
  take(rows.slice(0, 12), 0);
  schedule.recheck(ref("a"), -100);
  assert.equal(endpoints.windowOf("a", 0), 24);
  assert.equal(schedule.pick(0, 9)[0]?.quota, 16, "eight in hand");
  const more = hold(rowsOf([{ webhookId: "a", quota: 13 }]));
  assert.deepEqual(schedule.pick(0, 9), [], "three");
  take([...rows.slice(12), ...more.slice(0, 7)], 0);
  assert.ok(schedule.pick(0, 9)[0]!.quota > 3);
});

test("events are leased as they are read, and stay in the log while a responsive endpoint has enough", () => {
  const { schedule, hold, take, known } = start();
  assert.deepEqual(schedule.followRooms(0), { known: [], events: 4, room: 4 });
  const rows = hold(rowsOf([{ webhookId: "a", quota: 4 }]));
  assert.deepEqual(known(0), [["a", 0, 0]]);
  assert.deepEqual(known(600), [["a", 0, 500]], "the endpoint hangs, so its events become deliveries that wait");
  take(rows.slice(0, 2), 700);
  assert.deepEqual(known(700), [["a", 4, 4]]);
});

test("events wait behind deliveries of their webhook that wait in the store", () => {
  const { schedule, known } = start();
  schedule.followed([{ ...ref("a"), waiting: 3, behind: true }], 0);
  assert.equal(schedule.isStarved(), false, "its deliveries come first");
  assert.deepEqual(known(0), [["a", 0, 0]]);
  const picked = schedule.pick(0, 9);
  assert.deepEqual(
    picked.map(({ quota }) => quota),
    [4],
  );
  schedule.leased(picked, rowsOf([{ webhookId: "a", quota: 3 }]));
  assert.deepEqual(known(0), []);
  assert.equal(schedule.isStarved(), true);
  schedule.returned(ref("a"), 0);
  assert.deepEqual(known(0), [["a", 0, 0]], "a row was released");
  schedule.replace([webhook("a", { dueInMs: 3_600_000 })], 0);
  assert.deepEqual(known(0), [], "new events do not wait for a retry");
});

test("while the node holds as many rows as it may, events become deliveries that wait", () => {
  const { schedule } = start({ held: 100 });
  assert.deepEqual(schedule.followRooms(0), { known: [], events: 500, room: 0 });
});
