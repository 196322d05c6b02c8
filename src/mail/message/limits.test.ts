import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldNames, headOf, maxHeaderBytes, maxParts } from "./limits.ts";
import { shapeProblem } from "./structure.ts";

const problemOf = (text: string) => shapeProblem(Buffer.from(text, "latin1"));
const fields = (count: number, field: string) => `${field}\r\n`.repeat(count);

test("a message within every limit passes, and the reply names the limit that a message exceeds", () => {
  assert.equal(problemOf("From: a@b.test\r\nSubject: Hello\r\n\r\nHello\r\n"), undefined);
  for (const [name, within, beyond, reply] of [
    [
      "octets",
      `X: ${"x".repeat(maxHeaderBytes - 10)}\r\n\r\n`,
      `X: ${"x".repeat(maxHeaderBytes)}\r\n\r\n`,
      /^554 5\.6\.0 .*65535 octets/,
    ],
    [
      "lines",
      `${fields(999, "X: a\r\n b\r\n c\r\n d")}\r\n`,
      `${fields(1000, "X: a\r\n b\r\n c\r\n d\r\n e")}\r\n`,
      /4000 lines/,
    ],
    ["fields", `${fields(1000, "X: a")}\r\n`, `${fields(1001, "X: a")}\r\n`, /1000 fields/],
    ["hops", `${fields(50, "Received: a")}\r\n`, `${fields(51, "received : a")}\r\n`, /^554 5\.4\.6/],
    ["signatures", `${fields(25, "DKIM-Signature: a")}\r\n`, `${fields(26, "DKIM-Signature: a")}\r\n`, /25 signatures/],
    ["blanks", `X: a${" ".repeat(500)}b\r\n\r\n`, `X: a${" ".repeat(501)}b\r\n\r\n`, /500 blanks/],
    ["empty lines", `X: a\r\n\r\n${"\r\n".repeat(99_000)}`, `X: a\r\n\r\n${"\r\n".repeat(100_001)}`, /100000 lines/],
  ] as const) {
    assert.equal(problemOf(within), undefined, name);
    assert.match(problemOf(beyond) ?? "", reply, name);
  }
});

test("parts are counted by declared boundaries, not by dashes in the text", () => {
  const head = 'Content-Type: multipart/mixed; boundary="cut"\r\n\r\n';
  assert.match(problemOf(head + "\r\n--cut\r\n\r\nx".repeat(maxParts + 1)) ?? "", /1000 parts/);
  assert.equal(problemOf(head + "\r\n--cut\r\n\r\nx".repeat(maxParts - 1)), undefined);
  assert.equal(problemOf(head + "\r\n--signature of mine".repeat(5000)), undefined);
});

test("the header ends at the empty line, and folded lines have no field name", () => {
  assert.equal(headOf(Buffer.from("A: b\r\n\r\nC: d")).toString(), "A: b\r\n");
  assert.equal(headOf(Buffer.from("\r\nbody")).length, 0);
  assert.deepEqual(fieldNames(Buffer.from("From: a\r\n b: c\r\nX-Y : d\r\n")), ["from", "x-y"]);
});
