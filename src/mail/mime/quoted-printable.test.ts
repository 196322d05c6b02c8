import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeQuotedPrintable } from "./quoted-printable.ts";

const encode = (text: string, limit = 1_000_000) => encodeQuotedPrintable(Buffer.from(text), limit)?.toString("latin1");

/** Decodes as RFC 2045 §6.7 specifies. */
function decode(encoded: string): string {
  const bytes = encoded
    .replaceAll("=\r\n", "")
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString();
}

test("special octets are escaped", () => {
  assert.equal(encode("a=b"), "a=3Db");
  assert.equal(encode("grün"), "gr=C3=BCn");
  assert.equal(encode("end \r\nnext\t\n"), "end=20\r\nnext=09\r\n");
  assert.equal(encode("a\rb"), "a=0Db", "a lone CR is content");
  assert.equal(encode(".\nFrom me\nFromage"), "=2E\r\n=46rom me\r\nFromage");
});

test("lines have at most 76 ASCII characters and decode to the original text", () => {
  const texts = [
    "x".repeat(1000),
    "ü".repeat(300),
    `${" ".repeat(200)}\n`,
    "=".repeat(77),
    "a b ".repeat(99),
    ". . .".repeat(60),
  ];
  for (const text of texts) {
    const encoded = encode(text)!;
    for (const line of encoded.split("\r\n")) assert.ok(line.length <= 76 && !/[ \t]$/.test(line), line);
    assert.match(encoded, /^[\t\r\n -~]*$/);
    assert.equal(decode(encoded), text.replaceAll("\n", "\r\n"));
  }
});

test("a result above the limit is undefined", () => {
  assert.equal(encode("ü".repeat(10), 59), undefined);
  assert.equal(encode("ü".repeat(10), 60)?.length, 60);
});
