import assert from "node:assert/strict";
import { test } from "node:test";
import { resendLists } from "./resend-lists.ts";

const at = (...addresses: string[]) => addresses.map((address) => ({ address }));

test("an email goes to its recipients again", () => {
  const email = { to: ["Ann <Ann@there.test>"], cc: ["bob@there.test"], bcc: ["eve@there.test"] };
  const recipients = at("ann@there.test", "bob@there.test", "eve@there.test");
  assert.deepEqual(resendLists({ ...email, recipients }), email);
});

test("addresses that only the header names get nothing", () => {
  const list = { to: ["list@there.test"], cc: ["bob@there.test"], bcc: ["eve@there.test"] };
  assert.deepEqual(resendLists({ ...list, recipients: at("bob@there.test", "eve@there.test") }), {
    to: ["bob@there.test"],
    cc: [],
    bcc: ["eve@there.test"],
  });
  assert.deepEqual(resendLists({ ...list, recipients: at("eve@there.test") }), {
    to: ["eve@there.test"],
    cc: [],
    bcc: [],
  });
});

test("several blind copies must not learn of each other", () => {
  const email = { to: [], cc: [], bcc: ["eve@there.test", "bob@there.test"] };
  assert.equal(resendLists({ ...email, recipients: at("eve@there.test", "bob@there.test") }), undefined);
});
