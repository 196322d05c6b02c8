import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { EmailSchema, RecipientStatus } from "../../../src/gen/v1/email_pb.ts";
import { fieldDate, fieldValue, isReschedulable, utcText } from "./reschedule.ts";

const now = new Date("2030-01-01T12:00:00Z");
const scheduledAt = timestampFromDate(new Date("2030-01-01T13:00:00Z"));
const waiting = { status: RecipientStatus.QUEUED, attempts: 0 };

test("an email can get another time while its own is ahead and no recipient was attempted", () => {
  const email = (...recipients: { status: RecipientStatus; attempts: number }[]) =>
    create(EmailSchema, { scheduledAt, recipients });
  assert.equal(isReschedulable(email(waiting, waiting), now), true);
  assert.equal(isReschedulable(email(waiting), new Date("2030-01-01T13:00:00Z")), false);
  assert.equal(isReschedulable(email(waiting, { status: RecipientStatus.CANCELED, attempts: 0 }), now), false);
  assert.equal(isReschedulable(email({ status: RecipientStatus.QUEUED, attempts: 1 }), now), false);
  assert.equal(isReschedulable(create(EmailSchema, { recipients: [waiting] }), now), false);
});

test("the field has the time of the person's zone, and the text below it the same moment in UTC", () => {
  const date = new Date(2030, 2, 8, 9, 5);
  assert.equal(fieldValue(date), "2030-03-08T09:05");
  assert.deepEqual(fieldDate(fieldValue(date)), date);
  assert.equal(fieldDate(""), undefined);
  assert.equal(utcText(new Date("2030-03-08T22:05:59Z")), "8 Mar 2030, 22:05 UTC");
});
