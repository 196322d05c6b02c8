import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { encodeTextBody, type TextBody, textBodySizeAtMost } from "./text-body.ts";

test("short ASCII lines are sent as 7bit", () => {
  assert.deepEqual(encodeTextBody("Hello\nthere\r\n"), {
    encoding: "7bit",
    content: Buffer.from("Hello\r\nthere\r\n"),
  });
  assert.equal(encodeTextBody("").encoding, "7bit");
});

test("text that mail servers might change in transit is quoted-printable", () => {
  for (const [text, encoded] of [
    [".", "=2E"],
    ["a\n.\nb", "a\r\n=2E\r\nb"],
    ["From me", "=46rom me"],
    ["trailing \nx\t", "trailing=20\r\nx=09"],
    ["a\rb", "a=0Db"],
    ["a\n\rb", "a\r\n=0Db"],
    ["a\r", "a=0D"],
    ["--=_x", "--=3D_x"],
    ["für = 1", "f=C3=BCr =3D 1"],
  ] as const) {
    const body = encodeTextBody(text);
    assert.equal(body.encoding, "quoted-printable", text);
    assert.equal(Buffer.from(body.content as Uint8Array).toString("latin1"), encoded);
  }
});

test("text that is mostly non-ASCII is base64", () => {
  const body = encodeTextBody("Привет, мир\n");
  assert.equal(body.encoding, "base64");
  assert.equal(decode(body), "Привет, мир\r\n");
});

test("a line of 100 KB is split into short lines", () => {
  const text = "long line ".repeat(10_000);
  const body = encodeTextBody(text);
  assert.equal(body.encoding, "quoted-printable");
  for (const line of Buffer.from(body.content as Uint8Array)
    .toString("latin1")
    .split("\r\n"))
    assert.ok(line.length <= 76);
  assert.equal(decode(body), text);
});

const texts = fc.string({
  unit: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(..."abc .=-F\n\r\t") },
    { weight: 2, arbitrary: fc.constantFrom("From ", "\r\n", "--=_", "word ".repeat(20)) },
    { weight: 1, arbitrary: fc.constantFrom("ü", "用", "🎉", "\0", "\x7f") },
  ),
  maxLength: 400,
});

test("every text decodes to itself with CRLF line ends, and its size is within the bound", () => {
  fc.assert(
    fc.property(texts, (text) => {
      const body = encodeTextBody(text);
      assert.equal(decode(body), text.replace(/\r?\n/g, "\r\n"));
      if (!(body.content instanceof Uint8Array)) return;
      const wire = Buffer.from(body.content).toString("latin1");
      assert.ok(wire.length <= textBodySizeAtMost(text));
      assert.match(wire, /^(?:[\t -~]|\r\n)*$/);
      for (const line of wire.split("\r\n")) {
        assert.ok(line.length <= 78);
        assert.doesNotMatch(line, /^\.|^From |[ \t]$|^--=_/);
      }
    }),
    { numRuns: 2000 },
  );
});

function decode({ encoding, content }: TextBody): string {
  if (!(content instanceof Uint8Array)) return Buffer.from(content.base64, "base64").toString();
  const wire = Buffer.from(content).toString("latin1");
  if (encoding === "7bit") return wire;
  const octets = wire
    .replaceAll("=\r\n", "")
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(octets, "latin1").toString();
}
