import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeAccountMail, type PastMail } from "./account-mail.ts";

const hourMs = 3_600_000;
const past = (ageHours: number, more: Partial<PastMail> = {}): PastMail => ({
  kind: "invitation",
  email: "a@there.test",
  personId: "inviter",
  client: null,
  ageMs: ageHours * hourMs,
  ...more,
});
const invitation = { kind: "invitation", email: "a@there.test", personId: "inviter", client: undefined } as const;

test("one address gets three an hour and five invitations a day, from all inviters together", () => {
  const recent = [0.1, 0.2, 0.5].map((age) => past(age, { personId: String(age) }));
  assert.equal(judgeAccountMail(invitation, recent.slice(1)), undefined);
  assert.deepEqual(judgeAccountMail(invitation, recent), { by: "address", retryAfterMs: 0.5 * hourMs });
  const today = [2, 3, 4, 5, 20].map((age) => past(age));
  assert.equal(judgeAccountMail(invitation, today.slice(1)), undefined);
  assert.deepEqual(judgeAccountMail(invitation, today), { by: "address", retryAfterMs: 4 * hourMs });
  assert.equal(judgeAccountMail({ ...invitation, email: "b@there.test" }, today), undefined);
  assert.equal(judgeAccountMail({ ...invitation, kind: "reset" }, today), undefined, "another kind");
});

test("one inviter sends thirty invitations a day", () => {
  const all = Array.from({ length: 30 }, (_, i) => past(i / 2 + 1, { email: `${i}@there.test` }));
  assert.equal(judgeAccountMail(invitation, all.slice(1)), undefined);
  assert.deepEqual(judgeAccountMail(invitation, all), { by: "inviter", retryAfterMs: 8.5 * hourMs });
  assert.equal(judgeAccountMail({ ...invitation, personId: "other" }, all), undefined);
});

test("one client causes a hundred a day; mail without a client counts for none", () => {
  const all = Array.from({ length: 100 }, (_, i) => past(2, { email: `${i}@there.test`, client: "192.0.2.1" }));
  const reset = { kind: "reset", email: "a@there.test", personId: undefined, client: "192.0.2.1" } as const;
  assert.equal(judgeAccountMail(reset, all.slice(1)), undefined);
  assert.deepEqual(judgeAccountMail(reset, all), { by: "client", retryAfterMs: 22 * hourMs });
  assert.equal(judgeAccountMail({ ...reset, client: undefined }, all), undefined);
  assert.equal(
    judgeAccountMail({ ...invitation, personId: undefined }, Array(50).fill(past(2, { email: "x@x.test" }))),
    undefined,
  );
});
