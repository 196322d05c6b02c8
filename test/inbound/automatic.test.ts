/** Automatic mail and forged thread headers are never reported as replies. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { deliverInbound, eventsOfType, type InboundTestbed, startInboundTestbed } from "../harness/inbound.ts";

let testbed: InboundTestbed;
before(async () => {
  testbed = await startInboundTestbed();
});
after(async () => await testbed.stop());

test("an out-of-office message is reported as email.received with its parent's id, never as a reply", async () => {
  const sent = (await testbed.send({})).body as { id: string; messageId: string };
  for (const name of ["auto-rfc3834", "auto-german", "auto-precedence", "reply-gmail"]) {
    const raw = readFileSync(new URL(`../corpus/inbound/${name}.eml`, import.meta.url), "utf8")
      .replaceAll("<01890000-0000-7000-8000-000000000001@sender.test>", sent.messageId)
      .replace("answer.1", name);
    await deliverInbound(testbed, { to: "news@sender.test", raw });
  }
  const events = await testbed.events();
  const autoReplies = eventsOfType(events, "email.received");
  assert.equal(autoReplies.length, 3);
  for (const autoReply of autoReplies) {
    assert.equal(autoReply.autoSubmitted, true);
    assert.equal(autoReply.parentEmailId, sent.id);
  }
  const replies = eventsOfType(events, "email.replied");
  assert.deepEqual(
    replies.map(({ newText, parentEmailId }) => [newText, parentEmailId]),
    [["Yes, please.\n\nThanks\nAnn", sent.id]],
  );
});

test("a Message-ID of ours under another domain, or of an email that does not exist, gives no parent", async () => {
  const sent = (await testbed.send({})).body as { messageId: string };
  const ids = [
    sent.messageId.replace("@sender.test", "@elsewhere.test"),
    sent.messageId.replace(/^<.{8}/, "<01890000"),
  ];
  for (const [n, id] of ids.entries())
    await deliverInbound(testbed, {
      to: "news@sender.test",
      raw: `From: a@there.test\nSubject: forged ${n}\nIn-Reply-To: ${id}\n\nx\n`,
    });
  const forged = eventsOfType(await testbed.events(), "email.received").filter(({ subject }) =>
    /^forged/.test(String(subject)),
  );
  assert.deepEqual(
    forged.map(({ parentEmailId, autoSubmitted }) => [parentEmailId, autoSubmitted]),
    [
      ["", false],
      ["", false],
    ],
  );
});
