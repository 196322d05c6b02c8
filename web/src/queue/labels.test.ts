import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { DestinationSchema, DestinationState } from "../../../src/gen/v1/queue_pb.ts";
import { destinationLabel, retryProgress, waitingOf } from "./labels.ts";

const label = (part: object) =>
  destinationLabel(create(DestinationSchema, { state: DestinationState.ACTIVE, ...part })).text;

test("scheduled mail does not count as waiting", () => {
  assert.equal(waitingOf({ queued: 5, scheduled: 3 }), 2);
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
  assert.match(retryProgress({ tried: 3, before: 3, now: 3 }), /Retrying 3 recipients now: none has left/);
  assert.match(retryProgress({ tried: 3, before: 3, now: 2 }), /: 1 has left the queue so far/);
  assert.match(retryProgress({ tried: 3, before: 3, now: 9 }), /none has left/);
  assert.equal(retryProgress({ tried: 1, before: 4, now: 0 }), "Retried 1 recipient: all have left the queue.");
  assert.match(retryProgress({ tried: 0, before: 0, now: 0 }), /scheduled for later/);
});
