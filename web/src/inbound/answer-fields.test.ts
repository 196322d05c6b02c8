import assert from "node:assert/strict";
import { test } from "node:test";
import { answerTo } from "./answer-fields.ts";

const message = {
  from: "Ada <ada@there.test>",
  replyTo: "",
  to: ["Shop@sender.test", "b@sender.test"],
  subject: "Where?",
  domain: "sender.test",
};

test("an answer goes to the sender, from the address that got the message", () => {
  const { senders, ...fields } = answerTo(message);
  assert.deepEqual(senders, message.to);
  assert.deepEqual(fields, { from: "Shop@sender.test", to: "Ada <ada@there.test>", subject: "Re: Where?" });
});

test("an answer goes to the address that the sender asks for", () => {
  assert.equal(answerTo({ ...message, replyTo: "desk@there.test" }).to, "desk@there.test");
});

test("no answer comes from a return path", () => {
  const { senders, from } = answerTo({ ...message, to: ["b-1@bounce.sender.test"] });
  assert.deepEqual([senders, from], [[], ""]);
});

test("a subject gets one Re:, also an empty one", () => {
  const subjectOf = (subject: string) => answerTo({ ...message, subject }).subject;
  assert.deepEqual(["RE: a", "Re: a", "", "report"].map(subjectOf), ["RE: a", "Re: a", "Re:", "Re: report"]);
});
