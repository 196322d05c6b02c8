import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { attachmentName, safeName } from "./file-name.ts";

test("a name keeps what people can read, and nothing else", () => {
  const cases: [string, string][] = [
    ["report.pdf", "report.pdf"],
    ["Überweisung März.pdf", "Überweisung März.pdf"],
    ["../../etc/passwd", "_.._etc_passwd"],
    ["..\\..\\boot.ini", "_.._boot.ini"],
    ["/etc/shadow", "_etc_shadow"],
    ["a\u0000b\r\n.txt", "a_b__.txt"],
    ["evil\u202Efdp.exe", "evil_fdp.exe"],
    ["...", "attachment"],
    ["", "attachment"],
    ["  .hidden  ", "hidden"],
    ["CON", "_CON"],
    ["nul.txt", "_nul.txt"],
    ["C:\\a.txt", "C__a.txt"],
    ["\ud800lone.txt", "_lone.txt"],
    ["日本語.txt", "日本語.txt"],
  ];
  for (const [given, expected] of cases) assert.equal(safeName(given), expected, JSON.stringify(given));
});

test("a long name keeps its extension", () => {
  const name = safeName(`${"ä".repeat(300)}.pdf`);
  assert.ok(name.endsWith(".pdf"), name);
  assert.ok(Buffer.byteLength(name) <= 150);
  assert.ok(Buffer.byteLength(safeName(`x.${"y".repeat(300)}`)) <= 150);
});

test("two attachments never have the same name", () => {
  assert.equal(attachmentName("a.txt", 1), "01-a.txt");
  assert.equal(attachmentName("A.TXT", 2), "02-A.TXT");
});

test("no name leaves its folder or is refused by a file system", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 400 }), (given) => {
      const name = attachmentName(given, 1);
      assert.ok(Buffer.byteLength(name) <= 255, name);
      assert.ok(!/[/\\\p{Cc}\p{Cs}]/u.test(name), JSON.stringify(name));
      assert.ok(!name.includes("..") || !/[/\\]/.test(name));
      assert.ok(!/[. ]$/.test(name), JSON.stringify(name));
    }),
  );
});
