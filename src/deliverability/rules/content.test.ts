import assert from "node:assert/strict";
import { test } from "node:test";
import { goodFacts, goodMessage, withFields, withMessage } from "../../../test/harness/deliverability-facts.ts";
import {
  judgeAccepted,
  judgeFromDomain,
  judgeHiddenContent,
  judgeOneClick,
  judgeReplyAddress,
  judgeReplyPrefix,
  judgeSpamFilter,
  judgeUnsubscribeLink,
} from "./content.ts";
import type { SpamFacts } from "./facts.ts";

test("a refused message and a From of a mailbox provider fail", () => {
  assert.equal(
    judgeAccepted({ ...goodFacts, refusal: "the header has more than one From field: keep one" }).result,
    "fail",
  );
  assert.equal(judgeFromDomain(goodFacts).result, "pass");
  assert.match(judgeFromDomain({ ...goodFacts, fromDomain: "gmail.com" }).found, /mailbox provider/);
  assert.match(judgeFromDomain({ ...goodFacts, fromDomain: "other.test" }).found, /SendEmail refuses/);
});

test("one-click needs both headers, an https address and the signature over them", () => {
  assert.equal(judgeOneClick(goodFacts).result, "pass");
  const broken = [
    withFields(["List-Unsubscribe-Post", undefined]),
    withFields(["List-Unsubscribe", "<mailto:u@example.com>"]),
    withFields(["List-Unsubscribe", "<http://example.com/u>"]),
    withFields(["List-Unsubscribe-Post", "One-Click"]),
    withFields(["List-Unsubscribe", undefined], ["List-Unsubscribe-Post", undefined]),
    withMessage({ signedFields: ["from", "list-unsubscribe"] }),
  ];
  for (const facts of broken) assert.equal(judgeOneClick(facts).result, "fail");
  assert.equal(judgeOneClick({ ...broken[1]!, bulk: false }).result, "warn");
  assert.equal(judgeOneClick({ ...broken[4]!, bulk: false }).result, "not_needed");
  const folded = withFields(["List-Unsubscribe", "<mailto:u@example.com>,\r\n <https://example.com/u/1>"]);
  assert.equal(judgeOneClick(folded).result, "pass");
});

test("a link to unsubscribe that is not recognized is unknown, never a pass", () => {
  assert.equal(judgeUnsubscribeLink(goodFacts).result, "pass");
  assert.equal(judgeUnsubscribeLink(withMessage({ text: "Hello", html: "" })).result, "unknown");
  assert.equal(judgeUnsubscribeLink(withMessage({ text: "Abmelden: hier", html: "" })).result, "pass");
  assert.equal(judgeUnsubscribeLink({ ...goodFacts, bulk: false }).result, "not_needed");
});

test("styles that hide text are found, and others are not", () => {
  const of = (html: string) => judgeHiddenContent(withMessage({ html })).result;
  for (const style of [
    "display:none",
    "DISPLAY : None",
    "visibility: hidden",
    "font-size:0",
    "font-size:0px",
    "opacity:0;",
  ])
    assert.equal(of(`<p style="${style}">x</p>`), "warn", style);
  for (const style of ["display:block", "font-size:0.9em", "opacity:0.5", "font-size:10px"])
    assert.equal(of(`<p style="${style}">x</p>`), "pass", style);
  const far = `${"x".repeat(600_000)}<p style="display:none">x</p>`;
  assert.equal(of(far), "pass", "only the beginning of a large page is searched");
});

test("a subject that pretends to be a reply is found", () => {
  assert.equal(judgeReplyPrefix(withFields(["Subject", "RE: order"])).result, "warn");
  assert.equal(judgeReplyPrefix(withFields(["Subject", "Fwd: order"])).result, "warn");
  assert.equal(judgeReplyPrefix(withFields(["Subject", "Re: order"], ["In-Reply-To", "<a@b.test>"])).result, "pass");
  assert.equal(judgeReplyPrefix(withFields(["Subject", "Return: order"])).result, "pass");
});

test("replies must find a server, and the spam filter decides by its own threshold", () => {
  assert.equal(judgeReplyAddress({ ...goodFacts, replies: { domain: "a.test", receives: false } }).result, "warn");
  const spam = goodFacts.spam as SpamFacts;
  const of = (change: Partial<SpamFacts>) => judgeSpamFilter({ ...goodFacts, spam: { ...spam, ...change } });
  assert.equal(of({}).result, "pass");
  assert.equal(of({ score: 8 }).result, "warn");
  assert.equal(of({ score: 15 }).result, "fail");
  assert.equal(of({ isSpam: true }).result, "fail");
  assert.match(of({ rules: [{ name: "HTML_ONLY", score: 2, description: "" }] }).found, /HTML_ONLY \(2\)/);
  assert.equal(judgeSpamFilter({ ...goodFacts, spam: undefined }).result, "not_needed");
  assert.equal(judgeSpamFilter({ ...goodFacts, spam: { unanswered: "x" } }).result, "unknown");
  assert.equal(goodMessage.html, "<p>Hello</p>");
});
