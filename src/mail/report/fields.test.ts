import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldGroups, headerFields, typedAddress } from "./fields.ts";

const groups = (text: string) => fieldGroups(Buffer.from(text));

test("empty lines separate groups, and folded lines continue the previous field", () => {
  assert.deepEqual(
    groups("Reporting-MTA: dns; mx\r\n\r\nAction: failed\r\nDiagnostic-Code: smtp; 550\r\n no such user\r\n"),
    [
      [{ name: "reporting-mta", value: "dns; mx" }],
      [
        { name: "action", value: "failed" },
        { name: "diagnostic-code", value: "smtp; 550 no such user" },
      ],
    ],
  );
});

test("LF line ends, NUL, invalid UTF-8 and lines that are not fields are tolerated", () => {
  assert.deepEqual(groups("A: 1\nB:\n 2\n\n\n \nno field\nC: \0x\n"), [
    [
      { name: "a", value: "1" },
      { name: "b", value: "2" },
    ],
    [{ name: "c", value: "x" }],
  ]);
  assert.deepEqual(fieldGroups(Buffer.from([0x41, 0x3a, 0xff, 0x0a])), [[{ name: "a", value: "\ufffd" }]]);
  assert.deepEqual(headerFields(Buffer.alloc(0)), []);
});

test("at most 1,000 groups and 256 KiB are read", () => {
  assert.equal(groups("A: 1\n\n".repeat(5000)).length, 1000);
  assert.ok(groups(`A: ${"x".repeat(1_000_000)}`)[0]![0]!.value.length < 256 * 1024);
});

for (const [value, address] of [
  ["rfc822; a@b.test", "a@b.test"],
  ["rfc822;<a@b.test>", "a@b.test"],
  ["utf-8; jürgen@b.test (was moved)", "jürgen@b.test"],
  ["Ann <a@b.test>", "a@b.test"],
  ["a@b.test", "a@b.test"],
  ["rfc822; nobody", ""],
  ["", ""],
  [`rfc822;${" ".repeat(100_000)}a@b.test`, ""],
  ["a".repeat(100_000), ""],
] as const)
  test(`the address in ${JSON.stringify(value.slice(0, 40))} is ${JSON.stringify(address)}`, () =>
    assert.equal(typedAddress(value), address));
