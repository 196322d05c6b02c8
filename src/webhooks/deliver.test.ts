import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import type { StoredEvent } from "../events/store.ts";
import type { AttemptResult, WebhookAttempt } from "./attempt.ts";
import { createDeliver } from "./deliver.ts";
import type { LeasedDelivery } from "./store/lease.ts";

const event = {
  number: "7",
  id: "e",
  type: "email.delivered",
  emailId: "m",
  messageId: "<m@x>",
  metadata: {},
  payload: {},
  createdAt: new Date(0),
};
const row: LeasedDelivery = {
  workspaceId: "w",
  webhookId: "h",
  id: "d",
  lease: "1",
  attempts: 1,
  emailId: "m",
  event,
  isLarge: false,
  signer: { workspaceId: "w", id: "h", url: "https://hooks.test/", sealedSecrets: [] },
};
const answered = (extra: Partial<AttemptResult>): AttemptResult => ({
  outcome: "delivered",
  error: "",
  responseStatus: 200,
  responseHead: "HTTP/1.1 200 OK",
  durationMs: 9,
  exchange: { url: "https://hooks.test/", requestHeaders: "", responseHeaders: "", responseBody: "" },
  ...extra,
});

function deliver(
  attempt: WebhookAttempt,
  options: { row?: LeasedDelivery; scheduleMs?: number[]; stored?: StoredEvent } = {},
) {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const counted: string[] = [];
  const run = createDeliver({
    attempt,
    log,
    scheduleMs: options.scheduleMs ?? [100, 1000],
    random: () => 0.5,
    makeEventId: () => "evt",
    readEvent: async () => options.stored,
    onAttempt: (outcome) => counted.push(outcome),
  });
  return { result: run(options.row ?? row, new AbortController().signal), lines, counted };
}

test("a success is settled as delivered, and the endpoint counts as working", async () => {
  const { result, counted } = deliver(async () => answered({}));
  const { status, endpoint, attempts, dueInMs, responseStatus, durationMs } = (await result)!;
  assert.deepEqual(
    { status, endpoint, attempts, dueInMs, responseStatus, durationMs },
    { status: "delivered", endpoint: "worked", attempts: 2, dueInMs: undefined, responseStatus: 200, durationMs: 9 },
  );
  assert.deepEqual(counted, ["delivered"]);
});

test("a failure is retried on the schedule and fails after the last attempt", async () => {
  const attempt = async () => answered({ outcome: "retry", error: "the endpoint answered 500", responseStatus: 500 });
  const again = (await deliver(attempt).result)!;
  assert.deepEqual([again.status, again.dueInMs, again.endpoint], ["queued", 1000, "failed"]);
  const last = (await deliver(attempt, { scheduleMs: [100] }).result)!;
  assert.deepEqual([last.status, last.dueInMs, last.endpoint], ["failed", undefined, "failed"]);
});

test("410 fails the delivery without a retry", async () => {
  const gone = (await deliver(async () => answered({ outcome: "gone", error: "410" })).result)!;
  assert.deepEqual([gone.status, gone.endpoint], ["failed", "gone"]);
});

test("an aborted attempt has no settlement", async () => {
  assert.equal(await deliver(async () => undefined).result, undefined);
});

test("a delivery whose event was deleted fails without an attempt, and the endpoint is not blamed", async () => {
  const { result, counted } = deliver(() => assert.fail("there is nothing to post"), {
    row: { ...row, event: undefined },
  });
  const { status, endpoint, error } = (await result)!;
  assert.deepEqual(
    [status, endpoint, error],
    ["failed", "unknown", "the event was deleted because its retention period has passed"],
  );
  assert.deepEqual(counted, []);
});

test("a large event is read when its turn comes, and one that was deleted by then fails", async () => {
  const large = { ...row, event: undefined, isLarge: true };
  const posted: string[] = [];
  const attempt: WebhookAttempt = async (_, { id }) => {
    posted.push(id);
    return answered({});
  };
  assert.equal((await deliver(attempt, { row: large, stored: event }).result)!.status, "delivered");
  assert.equal((await deliver(attempt, { row: large }).result)!.status, "failed");
  assert.deepEqual(posted, [event.id]);
});

test("an internal error counts as an attempt, does not blame the endpoint, and its message is not logged", async () => {
  const { result, lines, counted } = deliver(async () => {
    throw new TypeError("cannot encode the text\nDear Anna, between us");
  });
  const { status, endpoint, attempts } = (await result)!;
  assert.deepEqual([status, endpoint, attempts], ["queued", "unknown", 2]);
  assert.deepEqual(counted, []);
  assert.equal(lines.length, 1);
  assert.match(lines[0]!, /TypeError.*deliver\.test\.ts/);
  assert.doesNotMatch(lines[0]!, /Anna|encode/);
});
