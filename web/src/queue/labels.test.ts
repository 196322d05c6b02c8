import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { DestinationSchema, DestinationState } from "../../../src/gen/v1/queue_pb.ts";
import { destinationLabel, dueOf, retryProgress, waitingOf } from "./labels.ts";

const label = (part: object) =>
  destinationLabel(create(DestinationSchema, { state: DestinationState.ACTIVE, ...part })).text;

test("scheduled mail does not count as waiting", () => {
  const counts = { queued: 6, scheduled: 3, delayed: 1, inFlight: 2 };
  assert.deepEqual([waitingOf(counts), dueOf(counts)], [2, 5]);
  assert.equal(label({ queued: 3, scheduled: 3 }), "Scheduled");
  assert.equal(label({ queued: 4, scheduled: 3 }), "Active");
  assert.equal(label({ queued: 3, scheduled: 3, inFlight: 1 }), "Active");
});

test("a pause is named before a receiver that does not answer, and that before a back-off", () => {
  const stalledSince = timestampFromDate(new Date());
  assert.equal(label({ state: DestinationState.PAUSED, stalledSince }), "Paused");
  assert.equal(label({ state: DestinationState.BACKING_OFF, stalledSince }), "Not answering");
  assert.equal(label({ state: DestinationState.BACKING_OFF }), "Backing off");
});

test("the progress of a retry counts what left the queue, and says what the receiver answered", () => {
  const at = (seconds: number) => timestampFromDate(new Date(1_700_000_000_000 + seconds * 1000));
  const one = (part: object) => create(DestinationSchema, { destination: "a.test", lastReplyAt: at(0), ...part });
  const three = { destination: "a.test", tried: 3, before: one({ queued: 3, delayed: 3 }), at: 0 };
  const text = (now: object | undefined) => retryProgress(three, now && one(now)).text;
  assert.equal(
    text({ queued: 2, inFlight: 1 }),
    "Retrying 3 recipients at a.test now: none has left the queue so far.",
  );
  assert.match(text({ queued: 2 }), /: 1 has left the queue so far/);
  assert.match(text({ queued: 1, delayed: 1 }), /: 2 have left the queue so far/);
  assert.match(text({ queued: 9 }), /none has left/);
  assert.deepEqual(retryProgress(three, undefined), {
    text: "Retried 3 recipients at a.test: all have left the queue.",
    done: true,
  });
  const answered = { lastReplyAt: at(1), lastReply: "451 later" };
  assert.deepEqual(retryProgress(three, one({ queued: 2, delayed: 2, ...answered })), {
    text: "Retried 3 recipients at a.test: 1 has left the queue so far. The last answer was: 451 later",
    done: false,
  });
  assert.match(retryProgress({ ...three, tried: 0 }, undefined).text, /scheduled for later/);
});
