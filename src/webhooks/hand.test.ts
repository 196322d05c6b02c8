import assert from "node:assert/strict";
import { test } from "node:test";
import { createEndpoints } from "./endpoints.ts";
import { createHand, type HandLimits, type HeldRow } from "./hand.ts";

type Row = HeldRow & { name: string };

const defaults: HandLimits = { total: 20, failingTotal: 3, held: 200, shareFactor: Number.POSITIVE_INFINITY };

function startHand(limits: Partial<HandLimits> = {}) {
  const endpoints = createEndpoints({ perEndpoint: 6, perWindow: 50 });
  const hand = createHand<Row>(endpoints, { ...defaults, ...limits });
  /** The rows that were posted or released, in order. */
  const posted: string[] = [];
  const released: string[] = [];
  const rows = new Map<string, Row>();
  let count = 0;
  return {
    endpoints,
    hand,
    posted,
    released,
    add(webhookId: string, extra: Partial<Row> = {}) {
      const name = extra.name ?? `${webhookId}${++count}`;
      const row = { workspaceId: "w", webhookId, attempts: 0, emailId: null, ...extra, name };
      rows.set(name, row);
      hand.add(row, 0, (turn) => (turn === "post" ? posted : released).push(name));
      return name;
    },
    serve(): string[] {
      hand.serve();
      return posted.splice(0);
    },
    attempted: (name: string, worked: boolean | undefined = true, nowMs = 0) =>
      hand.attempted(rows.get(name)!, { worked }, nowMs),
    aborted: (name: string) => hand.attempted(rows.get(name)!, undefined, 0),
    finished: (...names: string[]) => names.map((name) => hand.finished(rows.get(name)!)),
  };
}

test("webhooks take turns within the slots of each endpoint and of the node", () => {
  const { add, serve, attempted } = startHand({ total: 7 });
  for (let i = 0; i < 6; i++) add("a");
  for (let i = 0; i < 2; i++) add("b");
  const first = serve();
  assert.deepEqual(first, ["a1", "b7", "a2", "b8", "a3", "a4"], "four slots of a");
  for (let i = 0; i < 4; i++) add("c");
  assert.deepEqual(serve(), ["c9"], "the node has seven slots");
  attempted("a1");
  assert.deepEqual(serve(), ["c10"], "c comes before a, which was served");
  attempted("a2");
  assert.deepEqual(serve(), ["a5"]);
});

test("a row that waits for its settlement occupies no slot", () => {
  const { add, serve, attempted, hand } = startHand();
  for (let i = 0; i < 5; i++) add("a");
  assert.equal(serve().length, 4);
  attempted("a1");
  assert.deepEqual(serve(), ["a5"]);
  assert.equal(hand.rooms(0).of({ workspaceId: "w", webhookId: "a" }), 0, "but it counts as held");
});

test("the first attempts for an email are made in order, one at a time; other emails and retries do not wait", () => {
  const { add, serve, attempted } = startHand();
  const emailId = "e";
  add("a", { name: "first", emailId });
  add("a", { name: "second", emailId });
  add("a", { name: "third", emailId });
  add("a", { name: "retry", emailId, attempts: 1 });
  add("a", { name: "other", emailId: "f" });
  add("b", { name: "at b", emailId });
  assert.deepEqual(serve(), ["first", "at b", "retry", "other"]);
  attempted("retry");
  attempted("other");
  attempted("first", false);
  assert.deepEqual(serve(), ["second"], "the first attempt was made, although it failed");
  attempted("second");
  assert.deepEqual(serve(), ["third"]);
  attempted("third");
  add("a", { name: "later", emailId });
  assert.deepEqual(serve(), ["later"]);
});

test("events of an email that are leased while earlier ones are being released are released too", () => {
  const { add, serve, attempted, finished, hand, released } = startHand();
  const emailId = "e";
  add("a", { name: "first", emailId });
  add("a", { name: "second", emailId });
  assert.deepEqual(serve(), ["first"]);
  hand.withdraw("a");
  assert.deepEqual(released, ["second"]);
  attempted("first");
  add("a", { name: "third", emailId });
  assert.deepEqual([serve(), released], [[], ["second", "third"]]);
  finished("second", "third", "first");
  add("a", { name: "again", emailId });
  assert.deepEqual(serve(), ["again"]);
});

test("when a row is released, later events of its email are released too, until its lease is given up", () => {
  const { add, serve, aborted, finished, released } = startHand();
  const emailId = "e";
  add("a", { name: "first", emailId });
  add("a", { name: "second", emailId });
  assert.deepEqual(serve(), ["first"]);
  aborted("first");
  assert.deepEqual(released, ["second"]);
  add("a", { name: "third", emailId });
  assert.deepEqual(released, ["second", "third"]);
  finished("second", "third");
  add("a", { name: "fourth", emailId });
  assert.deepEqual(released, ["second", "third", "fourth"]);
  assert.deepEqual(finished("fourth", "first"), [false, true]);
  add("a", { name: "again", emailId });
  assert.deepEqual(serve(), ["again"]);
});

test("an endpoint gets rows as it responds, and gives them up when it stops", () => {
  const { add, serve, attempted, finished, hand, released } = startHand();
  const a = { workspaceId: "w", webhookId: "a" };
  const room = (nowMs: number) => hand.rooms(nowMs).of(a);
  assert.equal(room(0), 4);
  const take = (count: number) => Array.from({ length: count }, () => add("a"));
  const names = take(4);
  assert.equal(room(0), 0, "an endpoint that hangs holds no more");
  serve();
  for (const name of names) attempted(name, true, 100);
  assert.equal(room(100), 4, "eight, of which four are not settled");
  finished(...names);
  assert.equal(room(100), 8);
  take(30);
  assert.equal(serve().length, 6);
  hand.releaseExcess(150);
  assert.equal(released.length, 30 - 8, "those that it has taken lately, twice");
  assert.equal(released[0], "a34", "the latest first");
  assert.equal(hand.isResponsive("a", 200), true);
  assert.equal(hand.isResponsive("a", 700), false);
});

test("failing endpoints share a part of the node's slots, and rows are not leased for more of them", () => {
  const { add, serve, attempted, hand, endpoints } = startHand();
  for (let i = 0; i < 5; i++) endpoints.startFailing(`dead${i}`);
  const rooms = hand.rooms(0);
  const given = Array.from({ length: 5 }, (_, i) => {
    const webhook = { workspaceId: "w", webhookId: `dead${i}` };
    const room = rooms.of(webhook);
    rooms.take(webhook, room);
    return room;
  });
  assert.deepEqual(given, [1, 1, 1, 0, 0]);
  for (let i = 0; i < 5; i++) add(`dead${i}`, { name: `dead${i}` });
  add("live", { name: "live" });
  assert.deepEqual(serve(), ["dead0", "dead1", "dead2", "live"]);
  attempted("dead0", false);
  assert.deepEqual(serve(), ["dead3"]);
});

test("a workspace with many hanging endpoints leaves slots and rows to another workspace", () => {
  const { add, serve, hand } = startHand({ total: 40, held: 60, shareFactor: 1 });
  for (let i = 0; i < 10; i++) for (let j = 0; j < 4; j++) add(`hanging ${i}`, { workspaceId: "flood" });
  assert.equal(serve().length, 20);
  const roomOf = (workspaceId: string) => hand.rooms(0).of({ workspaceId, webhookId: `new of ${workspaceId}` });
  assert.deepEqual([roomOf("flood"), roomOf("calm")], [0, 4]);
  for (let i = 0; i < 4; i++) add("fine", { workspaceId: "calm" });
  assert.equal(serve().length, 4);
});

test("rows of a webhook that was disabled, and all rows of a program that stops, are released unless their request is in progress", () => {
  const { add, serve, attempted, hand, released } = startHand();
  for (let i = 0; i < 6; i++) add("a");
  add("b", { name: "first", emailId: "e" });
  add("b", { name: "second", emailId: "e" });
  serve();
  hand.withdraw("a");
  assert.deepEqual(released, ["a6", "a5"]);
  hand.close();
  assert.deepEqual(released, ["a6", "a5", "second"]);
  add("c");
  assert.deepEqual(released.at(-1), "c7");
  attempted("first");
  assert.deepEqual(serve(), []);
  assert.equal(hand.rooms(0).of({ workspaceId: "w", webhookId: "d" }), 0);
});
