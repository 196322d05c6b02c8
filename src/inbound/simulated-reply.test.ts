import assert from "node:assert/strict";
import { test } from "node:test";
import PostalMime from "postal-mime";
import { makeUuid } from "../postgres/ids.ts";
import { simulatedReply } from "./simulated-reply.ts";
import type { FollowUp } from "./store/follow-ups.ts";

const followUp: FollowUp = {
  workspaceId: makeUuid(0),
  emailId: makeUuid(0),
  position: 0,
  domainId: makeUuid(0),
  domain: "sender.test",
  kind: "reply",
  address: "replied@there.test",
  fromAddress: "shop@sender.test",
  subject: "Trial",
  messageId: "<2@sender.test>",
  references: [],
  metadata: {},
};

const replyTo = (change: Partial<FollowUp>) =>
  simulatedReply({ ...followUp, ...change }, { id: makeUuid(0), eventId: makeUuid(0), nowMs: 0 });

test("the message is one that a mail program could have sent, whatever the subject", async () => {
  const subject = `Grüße ${"ein langer Betreff ".repeat(50)}`.trim();
  const { raw } = replyTo({ subject });
  for (const line of raw.toString("latin1").split("\r\n")) {
    assert.ok(line.length <= 998, "RFC 5322 §2.1.1");
    assert.match(line, /^[\x20-\x7e]*$/);
  }
  const parsed = await PostalMime.parse(raw);
  assert.deepEqual([parsed.subject, parsed.text?.trim()], [`Re: ${subject}`, "This is a simulated reply."]);
});

test("it continues the thread of the email", () => {
  const { summary, raw } = replyTo({ references: ["<0@there.test>", "not an id", "<1@sender.test>"] });
  assert.deepEqual(summary.references, ["<0@there.test>", "<1@sender.test>", "<2@sender.test>"]);
  assert.match(raw.toString(), /^References: <0@there\.test>\s+<1@sender\.test>\s+<2@sender\.test>\r$/m);
});

test("a label in UTF-8 and an empty subject are no obstacle", async () => {
  const { raw, subject } = replyTo({ address: "replied+grüße@there.test", subject: "" });
  assert.equal(subject, "Re:");
  assert.equal((await PostalMime.parse(raw)).from?.address, "replied+grüße@there.test");
});
