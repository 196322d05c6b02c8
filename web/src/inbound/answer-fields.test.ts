import assert from "node:assert/strict";
import { test } from "node:test";
import { answerTo } from "./answer-fields.ts";

test("an answer goes to the sender, from the address that got the message", () => {
  const message = { from: "Ada <ada@there.test>", to: ["shop@sender.test", "b@sender.test"], subject: "Where?" };
  assert.deepEqual(answerTo(message), { from: "shop@sender.test", to: "Ada <ada@there.test>", subject: "Re: Where?" });
});

test("a subject gets one Re:, also an empty one", () => {
  const subjectOf = (subject: string) => answerTo({ from: "", to: [], subject }).subject;
  assert.deepEqual(["RE: a", "Re: a", "", "report"].map(subjectOf), ["RE: a", "Re: a", "Re:", "Re: report"]);
});
