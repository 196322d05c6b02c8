import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultWebhookScheduleMs, judgeAnswer, nextWebhookAttempt } from "./retry.ts";

const answered = (status: number, location?: string) => judgeAnswer({ kind: "answered", status, location });

test("only 2xx is a success, 410 is final, and every other status is retried", () => {
  for (const status of [200, 201, 202, 204, 299])
    assert.deepEqual(answered(status), { outcome: "delivered", error: "" });
  for (const status of [300, 301, 302, 304, 307, 308]) assert.equal(answered(status).outcome, "retry");
  for (const status of [400, 401, 404, 408, 409, 411, 429, 500, 502, 503, 504, 599, 999])
    assert.equal(answered(status).outcome, "retry");
  assert.equal(answered(410).outcome, "gone");
});

test("the error of a failure is unchanged, and that of a redirect names its target", () => {
  assert.deepEqual(judgeAnswer({ kind: "failed", error: "no answer within 15 s" }), {
    outcome: "retry",
    error: "no answer within 15 s",
  });
  assert.match(
    answered(302, "http://10.0.0.1/").error,
    /redirect to "http:\/\/10\.0\.0\.1\/"\. Redirects are not followed/,
  );
  assert.match(answered(301).error, /answered 301, a redirect\./);
  assert.ok(answered(302, `https://${"x".repeat(9000)}`).error.length < 400, "a long target is truncated");
});

test("waits follow the schedule with a fifth of jitter, and there is no attempt after its end", () => {
  for (const [i, waitMs] of defaultWebhookScheduleMs.entries()) {
    const at = (random: number) => nextWebhookAttempt({ attempts: i + 1, random: () => random });
    assert.equal(at(0), Math.round(waitMs * 0.8));
    assert.equal(at(0.5), waitMs);
    assert.ok(at(0.999_999)! <= Math.round(waitMs * 1.2));
  }
  assert.equal(nextWebhookAttempt({ attempts: 8, random: () => 0 }), undefined);
  assert.equal(nextWebhookAttempt({ attempts: 99, random: () => 0 }), undefined);
});

test("a configured schedule replaces the default", () => {
  const scheduleMs = [100];
  assert.equal(nextWebhookAttempt({ attempts: 1, random: () => 0.5, scheduleMs }), 100);
  assert.equal(nextWebhookAttempt({ attempts: 2, random: () => 0.5, scheduleMs }), undefined);
});
