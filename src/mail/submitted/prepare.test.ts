import assert from "node:assert/strict";
import { test } from "node:test";
import { prepare as prepareFor } from "./prepare.ts";

const prepare = (raw: Buffer) => prepareFor(raw, ["ann@there.test"]);
const from = "From: Shop <news@shop.test>";
const message = (...lines: string[]) => Buffer.from(lines.map((line) => `${line}\r\n`).join(""));
const stored = (...lines: string[]) => prepare(message(...lines)).message.toString();

test("a plain message is kept, without blind copies and the return path", () => {
  const lines = [
    from,
    "To: ann@there.test",
    "Subject: Hello",
    "Date: Wed, 18 Nov 2026 09:00:00 +0000",
    "Message-ID: <1@shop.test>",
    "X-Mailer: cron",
    "MIME-Version: 1.0",
  ];
  const result = prepare(message("Return-Path: <x@y.test>", ...lines, "Bcc: eve@there.test", "", "text"));
  assert.equal(result.message.toString(), `${lines.join("\r\n")}\r\n\r\ntext\r\n`);
  assert.deepEqual(
    {
      ...result,
      message: undefined,
      digest: undefined,
      from: result.from.address,
      to: result.to.map(({ address }) => address),
    },
    {
      from: "news@shop.test",
      to: ["ann@there.test"],
      cc: [],
      replyTo: [],
      subject: "Hello",
      messageId: "<1@shop.test>",
      inReplyTo: undefined,
      references: [],
      attachments: [],
      later: [],
      eightBit: false,
      message: undefined,
      digest: undefined,
      metadata: {},
      scheduledAt: undefined,
      idempotencyKey: undefined,
      unsubscribe: undefined,
    },
  );
});

test("missing fields are added, and an empty body is a body", () => {
  const result = prepare(message(from));
  assert.equal(result.message.toString(), `${from}\r\nTo: undisclosed-recipients:;\r\nMIME-Version: 1.0\r\n\r\n`);
  assert.deepEqual(result.later, ["Message-ID", "Date"]);
  assert.equal(result.messageId, undefined);
  assert.equal(
    stored(from, "Cc: ann@there.test", "", ""),
    `${from}\r\nCc: ann@there.test\r\nMIME-Version: 1.0\r\n\r\n\r\n`,
  );
});

test("the fields for Posthorn are read and removed", () => {
  const result = prepare(
    message(
      from,
      "X-Posthorn-Metadata-Order: 42",
      "X-POSTHORN-METADATA-name: =?UTF-8?Q?J=C3=BCrgen?=",
      "X-Posthorn-Scheduled-At: 2030-01-31T09:00:00Z",
      "X-Posthorn-Idempotency-Key: a b",
      "X-Posthorn-Copy: cp-x",
      "Date: Wed, 18 Nov 2026 09:00:00 +0000",
      "",
      "",
    ),
  );
  assert.deepEqual(result.metadata, { order: "42", name: "Jürgen" });
  assert.equal(result.scheduledAt?.toISOString(), "2030-01-31T09:00:00.000Z");
  assert.equal(result.idempotencyKey, "a b");
  assert.deepEqual(result.later, ["Message-ID", "Date"], "the date is the scheduled time");
  assert.doesNotMatch(result.message.toString(), /posthorn|Date/i);
});

for (const [name, lines, reason] of [
  ["no From", ["To: a@b.test"], /no From field/],
  ["two From fields", [from, from], /more than one From/],
  ["two addresses in From", ["From: a@shop.test, b@shop.test"], /more than one address/],
  ["a name without an address", ["From: root (Cron Daemon)"], /has no @/],
  ["a local part in another script", ["From: jürgen@shop.test"], /only ASCII/],
  ["two subjects", [from, "Subject: a", "subject: b"], /more than one subject/],
  ["a line that is no field", [from, "hello"], /"hello", which is not a field/],
  ["a header line of 999 octets", [from, `X: ${"x".repeat(996)}`], /fold it/],
  [
    "a misspelled option",
    [from, "X-Posthorn-Schedule-At: 2030-01-31T09:00:00Z"],
    /X-Posthorn-Schedule-At is not known/,
  ],
  ["a time without a zone", [from, "X-Posthorn-Scheduled-At: 2030-01-31 09:00"], /is not a time/],
  ["NUL", [from, "", "a\0b"], /NUL/],
] as const) {
  test(`refused: ${name}`, () => {
    assert.throws(() => prepare(message(...lines, "")), { name: "SubmittedProblem", message: reason });
  });
}

test("From has one reading: comments and groups are rewritten, encoded words stay", () => {
  assert.match(stored("From: root@shop.test (Cron Daemon)", ""), /^From: "?Cron Daemon"? <root@shop.test>\r\n/);
  assert.match(
    stored("From: =?UTF-8?Q?J=C3=BCrgen?= <j@shop.test>", ""),
    /^From: =\?UTF-8\?Q\?J=C3=BCrgen\?= <j@shop.test>\r\n/,
  );
  assert.match(stored('From: "a@evil.test" <j@shop.test>', ""), /^From: "a@evil.test" <j@shop.test>\r\n/);
  for (const value of ["a@evil.test <j@shop.test>", "Team: j@shop.test;", "<j@shop.test> a@evil.test"]) {
    try {
      assert.match(stored(`From: ${value}`, ""), /^From: [^@]*(?:"[^"]*" )?<?j@shop.test>?\r\n/);
    } catch (error) {
      assert.equal((error as Error).name, "SubmittedProblem", value);
    }
  }
});

test("fields in UTF-8 become ASCII, and fields in another charset are refused", () => {
  const result = prepare(message("From: Jürgen <j@shop.test>", "To: Zoë <zoe@there.test>", "Subject: Grüße", ""));
  assert.match(result.message.toString("latin1"), /^[\x00-\x7f]*$/);
  assert.equal(result.subject, "Grüße");
  assert.equal(result.from.name, "Jürgen");
  assert.throws(() => prepare(Buffer.from(`${from}\r\nSubject: Gr\xfc\r\n\r\n`, "latin1")), /neither ASCII nor UTF-8/);
});

test("addresses in other scripts are written when the form that the receiver reads is known", () => {
  const { later, to, message: kept } = prepare(message(from, "To: jürgen@there.test", ""));
  assert.deepEqual(later, ["Message-ID", "Date", "To"]);
  assert.equal(to[0]!.smtputf8, true);
  assert.doesNotMatch(kept.toString(), /To:/);
});

test("a Message-ID without brackets gets them, and one that is none is replaced", () => {
  assert.equal(prepare(message(from, "Message-ID: 1@shop.test", "")).messageId, "<1@shop.test>");
  assert.equal(prepare(message(from, "Message-ID: a b", "")).messageId, undefined);
});

test("a message with a Message-ID is the same only octet by octet and to the same recipients", () => {
  const lines = [from, "Message-ID: <1@shop.test>", "", "text"];
  const digest = (all: string[], to = ["a@b.test"]) => prepareFor(message(...all), to).digest;
  assert.equal(digest(lines), digest(lines));
  assert.notEqual(digest(lines), digest([...lines, ""]));
  assert.notEqual(digest(lines), digest(lines, ["a@b.test", "c@b.test"]));
  assert.equal(digest([from, "", "text"]), undefined);
});

test("with an idempotency key, date, Message-ID and boundaries do not count, and the content does", () => {
  const sent = (boundary: string, text: string, order = "1") =>
    prepare(
      message(
        from,
        "X-Posthorn-Idempotency-Key: k",
        `X-Posthorn-Metadata-Order: ${order}`,
        `Date: ${new Date(boundary.length * 1e11).toUTCString()}`,
        `Message-ID: <${boundary}@x.test>`,
        `Content-Type: multipart/mixed; boundary="${boundary}"`,
        "",
        `--${boundary}`,
        "",
        text,
        `--${boundary}--`,
      ),
    ).digest;
  assert.equal(sent("a", "text"), sent("bb", "text"));
  assert.notEqual(sent("a", "text"), sent("a", "other"));
  assert.notEqual(sent("a", "text"), sent("a", "text", "2"));
});

test("parts that are not the text are listed", () => {
  const parts = [
    "--b",
    "Content-Type: text/plain",
    "",
    "text",
    "--b",
    'Content-Type: image/png; name="a.png"',
    "Content-ID: <logo>",
    "Content-Transfer-Encoding: base64",
    "",
    "AAAA",
    "--b--",
  ];
  const { attachments } = prepare(message(from, "Content-Type: multipart/mixed; boundary=b", "", ...parts));
  assert.deepEqual(attachments, [{ filename: "a.png", contentType: "image/png", contentId: "logo", sizeBytes: 3 }]);
});

test("the stored message ends with a whole line, also after encoding", () => {
  const head = "From: a@b.test\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n";
  const { message } = prepare(Buffer.from(`${head}ü=`));
  assert.match(message.toString("latin1"), /=C3=BC\r\n$/);
});

test("a signed field that repeats is refused: with many of them, the signature would not fit", () => {
  for (const name of ["List-Id", "List-Unsubscribe", "List-Unsubscribe-Post", "Feedback-ID", "Auto-Submitted"])
    assert.throws(() => stored(from, `${name}: a`, `${name}: b`, "", "text"), {
      message: `the header has more than one ${name} field: keep one`,
    });
});
