import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem, problemCodes } from "../ops/problem.ts";
import { OutcomeUnknown } from "../postgres/outage.ts";
import { outageReply, replyOf } from "./replies.ts";

test("every problem has a reply with its text, and only temporary ones may be sent again", () => {
  for (const code of problemCodes)
    assert.match(replyOf(new Problem(code, "text")), /^[45]\d\d [45]\.\d\.\d text$/, code);
  assert.match(replyOf(new Problem("unavailable", "text")), /^451 4/);
  assert.match(replyOf(new Problem("failed_precondition", "text")), /^550 5\.7\.1/);
  const limited = new Problem("resource_exhausted", "text", { retryAfterMs: 1200 });
  assert.equal(replyOf(limited), "451 4.7.1 text (wait 2 s)");
});

test("an outage is temporary, and an unknown result says so", () => {
  const away = Object.assign(new Error("gone"), { code: "ECONNREFUSED" });
  assert.match(outageReply(away), /^451 4\.3\.0 .*nothing was stored/);
  assert.match(outageReply(Object.assign(new Error("full"), { code: "53100" })), /^452 4\.3\.1 .*disk/);
  assert.match(outageReply(new OutcomeUnknown(away)), /^451 4\.3\.0 .*unknown whether the message is stored/);
});
