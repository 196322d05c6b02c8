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

test("the progress of a retry counts what left the queue, never more than was retried", () => {
  const three = { destination: "a.test", tried: 3, before: 3 };
  assert.equal(retryProgress(three, 3), "Retrying 3 recipients at a.test now: none has left the queue so far.");
  assert.match(retryProgress(three, 2), /: 1 has left the queue so far/);
  assert.match(retryProgress(three, 9), /none has left/);
  assert.equal(
    retryProgress({ ...three, tried: 1, before: 4 }, 0),
    "Retried 1 recipient at a.test: all have left the queue.",
  );
  assert.match(retryProgress({ ...three, tried: 0 }, 0), /scheduled for later/);
});
