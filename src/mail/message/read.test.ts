import assert from "node:assert/strict";
import { test } from "node:test";
import { displayAddress, fieldOf, readMessage } from "./read.ts";

const read = (...lines: string[]) => readMessage(Buffer.from(lines.join("\r\n")));

test("parsing decodes names, reads Message-IDs and numbers the parts", () => {
  const message = read(
    "From: =?utf-8?q?J=C3=BCrgen?= <j@there.test>",
    "To: a@here.test, Team: b@here.test, c@here.test;",
    "Subject: Re:",
    "  your =?utf-8?b?w7xiZXI=?= order",
    "Message-ID: no-brackets@there.test",
    "In-Reply-To: <1@here.test>",
    "References: <0@here.test> <1@here.test>",
    'Content-Type: multipart/mixed; boundary="x"',
    "",
    "--x",
    "Content-Type: text/plain; charset=iso-8859-1",
    "Content-Transfer-Encoding: quoted-printable",
    "",
    "gr=FCn",
    "--x",
    'Content-Type: application/pdf; name="a\tb.pdf"',
    "Content-Disposition: attachment",
    "Content-ID: <c1>",
    "Content-Transfer-Encoding: base64",
    "",
    "QUJD",
    "--x--",
  );
  assert.deepEqual(message.from, { name: "Jürgen", address: "j@there.test" });
  assert.deepEqual(message.to, ["a@here.test", "b@here.test", "c@here.test"]);
  assert.equal(message.subject, "Re: your über order");
  assert.equal(message.messageId, "<no-brackets@there.test>");
  assert.deepEqual([message.inReplyTo, message.references], [["<1@here.test>"], ["<0@here.test>", "<1@here.test>"]]);
  assert.equal(message.text.trim(), "grün");
  assert.equal(message.parts.length, 1);
  const [part] = message.parts;
  assert.deepEqual([part!.id, part!.contentType, part!.contentId], ["1", "application/pdf", "c1"]);
  assert.equal(part!.content.toString(), "ABC");
  assert.ok(!/\p{Cc}/u.test(part!.filename), "no control character reaches a file name");
});

test("an empty message, a header without a body and a NUL do not fail", () => {
  assert.equal(read("").subject, "");
  assert.equal(read("Subject: a\0b").subject, "ab");
  assert.equal(fieldOf(read("X-One:  a ").fields, "x-one"), "a");
});

test("a message that is nested too deeply is refused", () => {
  const nested = Array.from({ length: 60 }, (_, i) => `Content-Type: multipart/mixed; boundary=b${i}\r\n\r\n--b${i}`);
  assert.throws(() => read(...nested, "", "x"), /nested/);
});

test("an address is displayed with quotes only where its name needs them", () => {
  assert.equal(displayAddress({ name: "Ann Smith", address: "a@b.test" }), "Ann Smith <a@b.test>");
  assert.equal(displayAddress({ name: 'Smith, "Ann"', address: "a@b.test" }), '"Smith, \\"Ann\\"" <a@b.test>');
  assert.equal(displayAddress({ name: "", address: "a@b.test" }), "a@b.test");
});
