import assert from "node:assert/strict";
import { test } from "node:test";
import { isAutomatic } from "./auto-reply.ts";

const letter = (header: Record<string, string>, rest: { sender?: string; subject?: string } = {}) =>
  isAutomatic({
    fields: Object.entries(header).map(([name, value]) => ({ name, value })),
    sender: rest.sender ?? "ann@there.test",
    subject: rest.subject ?? "Re: Your order",
  });

test("what programs write is told by its header, its path or its subject", () => {
  assert.ok(letter({ "auto-submitted": "auto-replied; owner-email=a@b" }));
  assert.ok(letter({ precedence: "bulk" }));
  assert.ok(letter({ "x-autoreply": "yes" }));
  assert.ok(letter({ "x-auto-response-suppress": "OOF, AutoReply" }));
  assert.ok(letter({ "content-type": "multipart/report; report-type=delivery-status" }));
  assert.ok(letter({ from: "Mail Delivery <MAILER-DAEMON@there.test>" }));
  assert.ok(letter({}, { sender: "" }), "the null path");
  for (const subject of ["Automatic reply: Hello", "AW: Abwesenheitsnotiz", "Out of the Office", "自动回复: 你好"])
    assert.ok(letter({}, { subject }), subject);
});

test("what people write is theirs, whatever words are in it", () => {
  assert.ok(!letter({}));
  assert.ok(!letter({ "auto-submitted": "no" }));
  assert.ok(!letter({ precedence: "list" }));
  assert.ok(!letter({ from: "Post Master <postmaster.smith@there.test>" }));
  assert.ok(!letter({}, { subject: "Re: the automatic reply that I got" }));
});
