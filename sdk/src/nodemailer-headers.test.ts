/** The headers of a nodemailer message, in each form in which nodemailer takes them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type HeaderData, readHeaders } from "./nodemailer-headers.ts";

/** `own` are the headers that nodemailer has set from fields of the message. */
function read(data: HeaderData, own: Record<string, unknown> = {}) {
  return readHeaders({ getHeader: (name: string) => own[name] }, data);
}

test("headers are taken from an object, from an array and from prepared values", () => {
  const forms: unknown[] = [
    { "X-A": "1", "X-B": 2, "X-C": { prepared: true, value: "one\r\n two" }, "X-D": ["4"], "X-E": "", "X-F": null },
    [
      { key: "X-A", value: "1" },
      { key: "X-B", value: 2 },
      { key: "X-C", value: "one\n two" },
      { key: "X-D", value: { value: "4" } },
      { key: "X-E" },
    ],
  ];
  for (const headers of forms)
    assert.deepEqual(read({ headers }).headers, { "X-A": "1", "X-B": "2", "X-C": "one two", "X-D": "4" });
  assert.deepEqual(read({}), { subject: "", headers: {} });
});

test("fields with a place of their own in the API are not headers", () => {
  const own = {
    Subject: "Hello\r\nBcc: eve@example.net",
    "In-Reply-To": "a@x.test",
    References: "<b@x.test> c@x.test",
  };
  const headers = { subject: "Hello", "IN-REPLY-TO": "a@x.test", references: "x", To: "x", bcc: "x", "Reply-To": "x" };
  assert.deepEqual(read({ headers }, own), {
    subject: "Hello Bcc: eve@example.net",
    inReplyTo: "<a@x.test>",
    references: ["<b@x.test>", "<c@x.test>"],
    headers: {},
  });
});

test("options of Posthorn are taken out of the headers, whatever their case", () => {
  const headers = {
    "X-Posthorn-Metadata-Order": "1042",
    "x-posthorn-metadata-__proto__": "x",
    "X-POSTHORN-SCHEDULED-AT": "Thu, 31 Jan 2030 09:00:00 +0100",
    "X-Posthorn-Idempotency-Key": "order-1042",
  };
  const { metadata, scheduledAt, idempotencyKey, headers: others } = read({ headers });
  assert.deepEqual(Object.entries(metadata!), [
    ["order", "1042"],
    ["__proto__", "x"],
  ]);
  assert.deepEqual(scheduledAt, new Date("2030-01-31T08:00:00Z"));
  assert.deepEqual([idempotencyKey, others], ["order-1042", {}]);
  for (const value of ["tomorrow", "2030-01-31", "2030-01-31T09:00:00", "2030-13-31T09:00:00Z", "1893488400"])
    assert.throws(() => read({ headers: { "X-Posthorn-Scheduled-At": value } }), /is not a time/, value);
  assert.deepEqual(read({ headers: { "X-Posthorn-Unsubscribe": "news" } }).unsubscribe, { topic: "news" });
  assert.throws(() => read({ headers: { "X-Posthorn-Tag": "x" } }), /headers\.X-Posthorn-Tag: is not known/);
});

test("list, priority and xMailer become headers, and priority replaces a header that is given", () => {
  const data = {
    headers: { "x-priority": "3", "X-Mailer": "Old" },
    list: { Unsubscribe: ["x", "y"], id: "x" },
    normalizedHeaders: { "list-unsubscribe": "<https://a.test>, <mailto:b@a.test>", "list-id": "<a.test>" },
    priority: "HIGH",
    xMailer: "Shop",
  };
  assert.deepEqual(read(data).headers, {
    "List-Unsubscribe": "<https://a.test>, <mailto:b@a.test>",
    "List-Id": "<a.test>",
    "X-Mailer": "Shop",
    "X-Priority": "1 (Highest)",
    "X-MSMail-Priority": "High",
    Importance: "High",
  });
});

test("a header with several values, twice in different case, or set by Posthorn is refused by name", () => {
  assert.throws(() => read({ headers: { "X-A": ["1", "2"] } }), /headers\.X-A: has several values/);
  assert.throws(() => read({ headers: { "X-A": "1", "x-a": "2" } }), /headers\.x-a: is set twice/);
  const twice = ["X-Posthorn-Idempotency-Key", "x-posthorn-idempotency-key"].map((key) => ({ key, value: "1" }));
  assert.throws(() => read({ headers: twice }), /headers\.x-posthorn-idempotency-key: is set twice/);
  assert.deepEqual(read({ headers: { constructor: "1" } }).headers, { constructor: "1" });
  assert.throws(() => read({ headers: { "Message-ID": "<a@x.test>" } }), /headers\.Message-ID: cannot be set/);
  assert.throws(() => read({ headers: { date: "now" } }), /headers\.date: cannot be set/);
});
