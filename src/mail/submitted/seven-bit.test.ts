import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import PostalMime from "postal-mime";
import { toSevenBit } from "./seven-bit.ts";

const lines = (...all: (string | Buffer)[]) =>
  Buffer.concat(all.map((line) => Buffer.concat([Buffer.from(line), Buffer.from("\r\n")])));

test("a message of short ASCII lines is not changed", () => {
  const raw = lines("Subject: x", "", "text", ".", "");
  assert.deepEqual(toSevenBit(raw), { message: raw, eightBit: false });
});

test("8-bit text becomes quoted-printable, and base64 where that is shorter", async () => {
  for (const [text, encoding] of [
    ["Viele Grüße aus der schönen Stadt am Rhein", "quoted-printable"],
    ["Привет, как дела сегодня", "base64"],
  ] as const) {
    const raw = lines("Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: 8bit", "", text);
    const { message, eightBit } = toSevenBit(raw);
    assert.match(message.toString(), new RegExp(`Content-Transfer-Encoding: ${encoding}\r\n\r\n`));
    assert.equal(eightBit, false);
    assert.match(message.toString("latin1"), /^[\x00-\x7f]*$/);
    assert.equal((await PostalMime.parse(message)).text!.trim(), text);
  }
});

test("text without a Content-Type gets one, and a charset that its octets have", () => {
  assert.match(toSevenBit(lines("", "Grüße")).message.toString(), /^Content-Type: text\/plain; charset=utf-8\r\n/);
  const latin1 = toSevenBit(lines("", Buffer.from("Grüße", "latin1"))).message.toString();
  assert.match(latin1, /charset=unknown-8bit\r\n[\s\S]*Gr=FC=DFe/);
});

test("UTF-8 text whose Content-Type has no charset gets it, and no other text", () => {
  const typeOf = (type: string, text: string | Buffer) =>
    /^Content-Type: (.*)\r\n/.exec(toSevenBit(lines(`Content-Type: ${type}`, "", text)).message.toString())![1];
  assert.equal(typeOf("text/plain", "Grüße"), "text/plain; charset=utf-8");
  assert.equal(typeOf("text/html; format=x;", "Grüße"), "text/html; format=x; charset=utf-8");
  assert.equal(typeOf("text/plain; charset=latin1", Buffer.from("Grüße", "latin1")), "text/plain; charset=latin1");
  assert.equal(typeOf("text/plain", Buffer.from("Grüße", "latin1")), "text/plain");
  assert.equal(typeOf("text/plain", "x".repeat(999)), "text/plain");
  assert.equal(typeOf("application/json", "Grüße"), "application/json");
});

test("long lines are encoded, whatever their part", async () => {
  const long = "x".repeat(999);
  const { message } = toSevenBit(lines("Content-Type: text/html", "", long));
  assert.ok(
    message
      .toString()
      .split("\r\n")
      .every((line) => line.length <= 998),
  );
  assert.equal((await PostalMime.parse(message)).html!.trim(), long);
  const just = lines("", "x".repeat(998));
  assert.equal(toSevenBit(just).message, just);
});

test("binary parts keep every octet, and multiparts keep their parts", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 300 }), async (bytes) => {
      // SMTP lets no other line ends than CRLF, and no NUL, through.
      const content = Buffer.from([255, ...bytes.map((byte) => ([0, 10, 13].includes(byte) ? 65 : byte))]);
      const raw = lines(
        "MIME-Version: 1.0",
        'Content-Type: multipart/mixed; boundary="b"',
        "Content-Transfer-Encoding: 8bit",
        "",
        "préambule",
        "--b",
        "Content-Type: text/plain; charset=iso-8859-1",
        "",
        Buffer.from("Grüße", "latin1"),
        "--b",
        "Content-Type: application/octet-stream",
        "Content-Transfer-Encoding: 8bit",
        "Content-Disposition: attachment; filename=ü.bin",
        "",
        content,
        "--b--",
      );
      const { message, eightBit } = toSevenBit(raw);
      assert.equal(eightBit, false);
      assert.match(message.toString("latin1"), /^[\x00-\x7f]*$/);
      const { text, attachments } = await PostalMime.parse(message);
      assert.equal(text!.trim(), "Grüße");
      assert.equal(attachments.length, 1);
      assert.equal(attachments[0]!.filename, "ü.bin");
      assert.deepEqual(Buffer.from(attachments[0]!.content as ArrayBuffer), content);
    }),
    { numRuns: 100 },
  );
});

test("a message in a message is encoded part by part", async () => {
  const inner = [
    "Subject: Grüße",
    "Content-Type: text/plain; charset=utf-8",
    "Content-Transfer-Encoding: 8bit",
    "",
    "schön",
  ];
  const raw = lines(
    'Content-Type: multipart/mixed; boundary="b"',
    "",
    "--b",
    "Content-Type: message/rfc822",
    "",
    ...inner,
    "--b--",
  );
  const { message } = toSevenBit(raw);
  assert.match(message.toString("latin1"), /^[\x00-\x7f]*$/);
  assert.match(message.toString(), /sch=C3=B6n/);
  assert.doesNotMatch(message.toString(), /rfc822\r\nContent-Transfer-Encoding: (base64|quoted)/);
});

test("signed parts stay as they are, and parts after them are encoded", () => {
  const signed = [
    'Content-Type: multipart/signed; boundary="s"; protocol="application/pgp-signature"',
    "",
    "--s",
    "Content-Type: text/plain; charset=utf-8",
    "Content-Transfer-Encoding: 8bit",
    "",
    "Grüße  ",
    "--s",
    "Content-Type: application/pgp-signature",
    "",
    "signature",
    "--s--",
  ];
  const raw = lines(
    'Content-Type: multipart/mixed; boundary="b"',
    "",
    "--b",
    ...signed,
    "--b",
    "Content-Type: text/plain; charset=utf-8",
    "",
    "schön",
    "--b--",
  );
  const { message, eightBit } = toSevenBit(raw);
  assert.equal(eightBit, true);
  assert.ok(message.includes(lines(...signed.slice(1))), message.toString());
  assert.match(message.toString(), /sch=C3=B6n/);
});

test("a multipart without a boundary is refused, and so is one with too many parts", () => {
  assert.throws(() => toSevenBit(lines("Content-Type: multipart/mixed", "", "ü")), /boundary parameter/);
  const parts = Array.from({ length: 1001 }, () => ["--b", "", "ü"]).flat();
  assert.throws(
    () => toSevenBit(lines("Content-Type: multipart/mixed; boundary=b", "", ...parts)),
    /more than 1000 parts/,
  );
});

test("any octets become ASCII, or are said to need 8 bits", () => {
  const piece = fc.constantFrom(
    "--b",
    "--b--",
    "",
    "ü",
    "x".repeat(1200),
    "Content-Type: multipart/mixed; boundary=b",
    "Content-Type: message/rfc822",
    "Content-Transfer-Encoding: base64",
    "Content-Transfer-Encoding: quoted-printable",
    "=ü",
    " fold",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 25 }), (all) => {
      try {
        const { message, eightBit } = toSevenBit(lines("Content-Type: multipart/mixed; boundary=b", "", ...all));
        // Other message types must not be encoded.
        assert.equal(eightBit, !/^[\x00-\x7f]*$/.test(message.toString("latin1")));
      } catch (error) {
        assert.equal((error as Error).name, "SubmittedProblem", String(error));
      }
    }),
    { numRuns: 500 },
  );
  assert.equal(toSevenBit(lines("", randomBytes(100_000).toString("base64"))).eightBit, false);
});

test("long lines before the first part and after the last one are cut", () => {
  const raw = lines(
    "Content-Type: multipart/mixed; boundary=b",
    "",
    "p".repeat(2000),
    "--b",
    "",
    "x",
    "--b--",
    "é".repeat(1000),
  );
  const text = toSevenBit(raw).message.toString("latin1");
  assert.deepEqual(
    text.split("\r\n").filter((line) => line.length > 998),
    [],
  );
  assert.match(text, /p{998}\r\np{998}\r\np{4}\r\n--b\r\n\r\nx\r\n--b--\r\n\?{998}\r\n/);
});

test("an attached message with a broken header is kept, because its sender cannot mend it", () => {
  const latin1 = Buffer.from("Subject: \xe9", "latin1");
  for (const line of ["From ann@there.test Mon Jan  1", `X-Long: ${"x".repeat(2000)}`, latin1]) {
    const attached = lines("Content-Type: message/rfc822", "", line, "X-A: é", "", "é");
    const raw = lines("Content-Type: multipart/mixed; boundary=b", "", "--b", attached, "--b--");
    const { message, eightBit } = toSevenBit(raw);
    assert.ok(message.includes(attached), message.toString());
    assert.equal(eightBit, true);
  }
});

test("a part around 8-bit content that stays says so (RFC 2045 §6.4)", () => {
  const signed = lines("Content-Type: multipart/signed; boundary=c", "", "--c", "", "é", "--c", "", "s", "--c--");
  const attached = lines("Content-Type: message/rfc822", "", signed);
  const raw = lines("Content-Type: multipart/mixed; boundary=b", "", "--b", attached, "--b--");
  const { message, eightBit } = toSevenBit(raw);
  assert.equal(eightBit, true);
  assert.deepEqual(message.toString().match(/Content-Transfer-Encoding: .*/g), [
    "Content-Transfer-Encoding: 8bit",
    "Content-Transfer-Encoding: 8bit",
  ]);
});
