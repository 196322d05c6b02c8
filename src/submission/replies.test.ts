import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem, problemCodes } from "../ops/problem.ts";
import { replyOf } from "./replies.ts";

test("every problem has a reply with its text, and only temporary ones may be sent again", () => {
  for (const code of problemCodes)
    assert.match(replyOf(new Problem(code, "text")), /^[45]\d\d [45]\.\d\.\d text$/, code);
  assert.match(replyOf(new Problem("unavailable", "text")), /^451 4/);
  assert.match(replyOf(new Problem("failed_precondition", "text")), /^550 5\.7\.1/);
  const limited = new Problem("resource_exhausted", "text", { retryAfterMs: 1200 });
  assert.equal(replyOf(limited), "451 4.7.1 text (wait 2 s)");
});
