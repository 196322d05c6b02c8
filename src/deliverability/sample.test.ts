import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyRequest } from "../emails/rules/request.ts";
import { compose } from "../mail/compose.ts";
import { prepare } from "../mail/submitted/prepare.ts";
import { Problem } from "../ops/problem.ts";
import { ownSample, refusedSample, sampleFrom, sampleFromStored, sampleFromSubmitted, withFields } from "./sample.ts";

const nowMs = Date.parse("2026-11-18T14:00:00Z");
const limits = { recipients: 50, messageBytes: 1_000_000, attachments: 10 };
const from = (change: object) =>
  sampleFrom({ ...emptyRequest, subject: "Hi", body: "x", ...change }, { domain: "a.test", nowMs, limits });

test("our own sample is complete and says that it is ours", () => {
  const sample = ownSample("a.test", nowMs);
  assert.deepEqual([sample.isOwn, sample.fromDomain, sample.replyDomain], [true, "a.test", "a.test"]);
  assert.match(compose(sample.content.email).toString(), /^From: check@a\.test\r\nTo: recipient@example\.com\r\n/);
});

test("sender and recipient may be missing; other mistakes are those of SendEmail, at email.…", () => {
  assert.equal(from({}).fromDomain, "a.test");
  assert.equal(from({ from: "x@b.test", replyToAddresses: ["y@c.test"] }).replyDomain, "c.test");
  for (const [change, field] of [
    [{ subject: undefined }, "email.subject"],
    [{ body: "" }, "email.body"],
    [{ headers: { From: "x@y.test" } }, 'email.headers["From"]'],
    [{ from: "nobody" }, "email.from"],
    [
      { attachments: [{ base64Content: "A".repeat(4_000_000), filename: "a", contentType: "", contentId: "" }] },
      "email.attachments",
    ],
  ] as const)
    assert.throws(
      () => from(change),
      (error) =>
        error instanceof Problem &&
        error.code === "invalid_argument" &&
        error.violations.some((one) => one.field === field),
      field,
    );
});

test("a reply has the threading headers, and a stored email is taken as it is", () => {
  const { email } = from({ inReplyTo: "<1@a.test>" }).content;
  assert.match(compose(email).toString(), /In-Reply-To: <1@a\.test>\r\nReferences: <1@a\.test>/);
  const stored = sampleFromStored(email);
  assert.deepEqual([stored.texts, stored.isOwn], [{ text: "x", html: "" }, false]);
});

test("a whole message keeps its own fields, and a refused one is kept as it is", () => {
  const raw = Buffer.from("From: Shop <n@a.test>\r\nReply-To: r@b.test\r\nSubject: Hi\r\n\r\nHello\r\n");
  const sample = sampleFromSubmitted(prepare(raw, []), { raw, domain: "a.test", nowMs, limits });
  assert.deepEqual([sample.fromDomain, sample.replyDomain, sample.texts], ["a.test", "b.test", undefined]);
  const email = "email" in sample.content ? sample.content.email : undefined;
  const text = compose(email!).toString();
  assert.match(text, /Date: Wed, 18 Nov 2026 14:00:00 \+0000/);
  assert.match(text, /Message-ID: </);
  assert.deepEqual(refusedSample(raw, "no", "a.test").content, { refused: "no", raw });
});

test("a topic names the recipient of its link, and the fields are where SendEmail puts them", () => {
  const sample = from({ to: ["Ada <ada@there.test>"], headers: { "X-Own": "1" }, unsubscribe: { topic: "news" } });
  assert.deepEqual(sample.unsubscribe, { topic: "news", address: "ada@there.test" });
  const fields: [string, string][] = [["List-Unsubscribe", "<https://mail.test/unsubscribe/x>"]];
  const textOf = ({ content }: ReturnType<typeof withFields>) =>
    "email" in content ? compose(content.email).toString() : content.refused;
  assert.match(textOf(withFields(sample, fields)), /X-Own: 1\r\nList-Unsubscribe: <https:\/\/mail\.test/);
  const submit = (...lines: string[]) => {
    const raw = Buffer.from(
      `${["From: n@a.test", "X-Posthorn-Unsubscribe: news", ...lines].join("\r\n")}\r\n\r\nHi\r\n`,
    );
    return withFields(sampleFromSubmitted(prepare(raw, []), { raw, domain: "a.test", nowMs, limits }), fields);
  };
  assert.match(textOf(submit("To: b@there.test")), /List-Unsubscribe: <https:\/\/mail\.test/);
  assert.equal(submit("To: b@there.test").unsubscribe?.address, "b@there.test");
  assert.match(textOf(submit("To: b@there.test, c@there.test")), /^X-Posthorn-Unsubscribe needs exactly one recipient/);
});
