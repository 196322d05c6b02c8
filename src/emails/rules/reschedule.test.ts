import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "../../ops/problem.ts";
import { checkTime, isNewTime, type ScheduledState } from "./reschedule.ts";

const nowMs = Date.parse("2030-01-01T00:00:00Z");
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const inMs = (ms: number) => new Date(nowMs + ms);
const waiting = { status: "queued", attempts: 0, isLeased: false, inDoubt: false };
const scheduled: ScheduledState = {
  createdAt: inMs(-hourMs),
  scheduledAt: inMs(hourMs),
  expiresAt: inMs(49 * hourMs),
  hasOwnExpiry: false,
  wallMs: nowMs,
  recipients: [waiting, waiting],
};

const problemOf = (state: Partial<ScheduledState>, requested = inMs(2 * hourMs)) => {
  try {
    return isNewTime({ ...scheduled, ...state }, requested);
  } catch (error) {
    assert.ok(error instanceof Problem);
    return `${error.code}: ${error.message}`;
  }
};

test("a time is required, and the limits of SendEmail apply to it", () => {
  const texts = (at: Date | undefined) =>
    checkTime(at, nowMs).map(({ field, description }) => `${field} ${description}`);
  assert.deepEqual(texts(undefined), ["scheduledAt is required: the new time, such as 2030-01-31T08:00:00Z"]);
  assert.deepEqual(texts(new Date(Number.NaN)), [
    "scheduledAt is outside of the range of dates; choose a time up to 30 days ahead",
  ]);
  assert.deepEqual(texts(inMs(30 * dayMs)), []);
  assert.deepEqual(texts(inMs(30 * dayMs + 1)), [
    "scheduledAt is 2030-01-31T00:00:00.001Z, more than 30 days ahead; choose an earlier time",
  ]);
  assert.deepEqual(texts(inMs(-5 * 60_000)), []);
  assert.deepEqual(texts(inMs(-5 * 60_000 - 1)), [
    "scheduledAt is 2029-12-31T23:54:59.999Z, more than 5 minutes in the past; choose the current time to send now",
  ]);
});

test("an email that waits for its time gets any other time", () => {
  for (const ms of [-60_000, 0, 1, 30 * dayMs]) assert.equal(problemOf({}, inMs(ms)), true, `${ms} ms`);
});

test("an email waits for at most 60 days after it was accepted", () => {
  const createdAt = inMs(-40 * dayMs);
  assert.equal(problemOf({ createdAt }, inMs(20 * dayMs)), true);
  assert.equal(
    problemOf({ createdAt }, inMs(20 * dayMs + 1)),
    "invalid_argument: scheduledAt: is 2030-01-21T00:00:00.001Z, more than 60 days after this email was accepted (2029-11-22T00:00:00.000Z); choose an earlier time, or cancel it and send it again",
  );
  assert.equal(problemOf({ createdAt, scheduledAt: inMs(21 * dayMs) }, inMs(21 * dayMs)), false, "the same time");
});

test("the same time changes nothing, also while the email is sent and afterwards", () => {
  const same = inMs(hourMs);
  assert.equal(problemOf({}, same), false);
  assert.equal(problemOf({ wallMs: nowMs + 2 * hourMs }, same), false);
  for (const one of [{ isLeased: true }, { attempts: 1 }, { status: "delivered", attempts: 1 }])
    assert.equal(problemOf({ recipients: [{ ...waiting, ...one }] }, same), false);
});

test("a repeated call that means now changes nothing, and one that means a later now is refused", () => {
  const sentNow = { scheduledAt: inMs(-30_000), recipients: [{ ...waiting, status: "delivered", attempts: 1 }] };
  assert.equal(problemOf(sentNow, inMs(-60_000)), false);
  assert.match(String(problemOf(sentNow, inMs(-20_000))), /failed_precondition: .*first attempt has been made/);
});

test("an email that is not waiting for its time is refused, and the message says why and what to do", () => {
  const with2 = (one: Partial<typeof waiting>) => ({ recipients: [waiting, { ...waiting, ...one }] });
  const cases: [Partial<ScheduledState>, RegExp][] = [
    [{ scheduledAt: null }, /sent without scheduledAt\. Send a new email/],
    [with2({ status: "canceled" }), /was canceled\. Send a new email/],
    [with2({ isLeased: true }), /is being sent right now\. CancelEmail stops further attempts/],
    [with2({ attempts: 1, status: "delayed" }), /first attempt has been made\. CancelEmail stops further attempts/],
    [with2({ inDoubt: true }), /first attempt has been made\. CancelEmail/],
    [with2({ status: "failed" }), /at least one recipient is finished\. CancelEmail/],
    [{ scheduledAt: inMs(0) }, /its time 2030-01-01T00:00:00.000Z has passed, and .* possible\. CancelEmail/],
  ];
  for (const [state, reason] of cases) {
    const text = String(problemOf(state));
    assert.match(text, /^failed_precondition: The time of this email cannot be changed: /);
    assert.match(text, reason);
  }
  const canceled = problemOf(with2({ status: "canceled" }), inMs(hourMs));
  assert.match(String(canceled), /was canceled/, "even with the time that it has");
});

test("an expiry that the sender named stays, and the new time must suit it", () => {
  const own = { hasOwnExpiry: true, expiresAt: inMs(3 * hourMs) };
  assert.equal(problemOf(own, inMs(3 * hourMs - 1)), true);
  assert.equal(
    problemOf(own, inMs(3 * hourMs)),
    "invalid_argument: scheduledAt: is 2030-01-01T03:00:00.000Z, and the expiresAt of this email is 2030-01-01T03:00:00.000Z; choose a time before it, or cancel and send again",
  );
  const far = { hasOwnExpiry: true, scheduledAt: inMs(20 * dayMs), expiresAt: inMs(40 * dayMs) };
  assert.equal(problemOf(far, inMs(10 * dayMs)), true);
  assert.match(
    String(problemOf(far, inMs(10 * dayMs - 1))),
    /^invalid_argument: .*2030-02-10.*more than 30 days later/,
  );
  assert.match(String(problemOf(far, inMs(-60_000))), /more than 30 days later/);
});
