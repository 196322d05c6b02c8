import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultTestType } from "./labels.ts";

test("a test event has a type that the webhook receives", () => {
  assert.equal(defaultTestType([]), "email.delivered");
  assert.equal(defaultTestType(["email.bounced", "email.delivered"]), "email.delivered");
  assert.equal(defaultTestType(["email.replied", "email.bounced"]), "email.replied");
});
