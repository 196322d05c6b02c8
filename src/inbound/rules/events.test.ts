import assert from "node:assert/strict";
import { test } from "node:test";
import {
  complainedPayload,
  maxEventText,
  receivedPayload,
  repliedPayload,
  type Verdicts,
  verdictsOnWire,
} from "./events.ts";

const verdicts: Verdicts = {
  spf: "pass",
  spfDomain: "there.test",
  dkim: "none",
  dkimDomain: "",
  dmarc: "temperror",
  arc: "pass",
  arcDomain: "list.test",
};
const onWire = {
  spf: "VERDICT_PASS",
  spfDomain: "there.test",
  dkim: "VERDICT_NONE",
  dkimDomain: "",
  dmarc: "VERDICT_TEMPERROR",
  arc: "VERDICT_PASS",
  arcDomain: "list.test",
};
const mail = {
  from: "anna@there.test",
  to: ["shop@here.test"],
  subject: "Re: order",
  body: "Thanks\n> order",
  messageId: "<1@there.test>",
  inReplyTo: "<0@here.test>",
  parentEmailId: "em_1",
  inboundId: "in_1",
};

test("verdicts use the contract's enum names", () => assert.deepEqual(verdictsOnWire(verdicts), onWire));

test("the payload of a reply contains the new text; fields without a value are absent", () => {
  assert.deepEqual(repliedPayload({ ...mail, newText: "Thanks" }), { ...mail, newText: "Thanks" });
  const whole = repliedPayload({ ...mail, newText: "Thanks", html: "<p>Thanks</p>", verdicts });
  assert.deepEqual(whole, { ...mail, newText: "Thanks", html: "<p>Thanks</p>", verdicts: onWire });
  assert.deepEqual(receivedPayload({ ...mail, autoSubmitted: true, html: "", verdicts }), {
    ...mail,
    autoSubmitted: true,
    verdicts: onWire,
  });
});

test("long texts are truncated without splitting a character", () => {
  const body = `${"a".repeat(maxEventText - 1)}😀 and more`;
  for (const payload of [
    repliedPayload({ ...mail, body, newText: body, html: body }),
    receivedPayload({ ...mail, body, html: body, autoSubmitted: false }),
  ])
    for (const text of [payload.body, payload.html] as string[]) {
      assert.equal(text.length, maxEventText);
      assert.ok(text.isWellFormed());
    }
  const exact = "b".repeat(maxEventText);
  assert.equal(repliedPayload({ ...mail, body: exact, newText: "" }).body, exact);
});

test("the payload of a complaint has an arrival time only if the report has one", () => {
  const complaint = { recipients: ["anna@there.test"], feedbackType: "abuse", userAgent: "fbl/1" };
  assert.deepEqual(complainedPayload(complaint), complaint);
  const dated = { ...complaint, arrivedAt: "2026-11-16T00:00:00.000Z" };
  assert.deepEqual(complainedPayload(dated), dated);
});
