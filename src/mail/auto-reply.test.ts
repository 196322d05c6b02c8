import assert from "node:assert/strict";
import { test } from "node:test";
import { isAutomatic } from "./auto-reply.ts";

const isAutomaticMail = (header: Record<string, string>, rest: { sender?: string; subject?: string } = {}) =>
  isAutomatic({
    fields: Object.entries(header).map(([name, value]) => ({ name, value })),
    sender: rest.sender ?? "ann@there.test",
    subject: rest.subject ?? "Re: Your order",
  });

test("automatic mail is recognized by its header, its null return path or its subject", () => {
  assert.ok(isAutomaticMail({ "auto-submitted": "auto-replied; owner-email=a@b" }));
  assert.ok(isAutomaticMail({ precedence: "bulk" }));
  assert.ok(isAutomaticMail({ "x-autoreply": "yes" }));
  assert.ok(isAutomaticMail({ "x-auto-response-suppress": "OOF, AutoReply" }));
  assert.ok(isAutomaticMail({ "content-type": "multipart/report; report-type=delivery-status" }));
  assert.ok(isAutomaticMail({ from: "Mail Delivery <MAILER-DAEMON@there.test>" }));
  assert.ok(isAutomaticMail({}, { sender: "" }), "the null return path");
  for (const subject of ["Automatic reply: Hello", "AW: Abwesenheitsnotiz", "Out of the Office", "自动回复: 你好"])
    assert.ok(isAutomaticMail({}, { subject }), subject);
});

test("mail from a person is not automatic, even if it mentions automatic replies", () => {
  assert.ok(!isAutomaticMail({}));
  assert.ok(!isAutomaticMail({ "auto-submitted": "no" }));
  assert.ok(!isAutomaticMail({ precedence: "list" }));
  assert.ok(!isAutomaticMail({ from: "Post Master <postmaster.smith@there.test>" }));
  assert.ok(!isAutomaticMail({}, { subject: "Re: the automatic reply that I got" }));
});
