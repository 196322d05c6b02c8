import assert from "node:assert/strict";
import { test } from "node:test";
import { goodFacts, withFields, withMessage } from "../../../test/harness/deliverability-facts.ts";
import {
  judgeDate,
  judgeFromAddress,
  judgeHeaderEncoding,
  judgeLineLength,
  judgeMessageId,
  judgeSingleFields,
  judgeSize,
  judgeTextPart,
} from "./format.ts";

test("fields that may occur once occur once, whatever their case", () => {
  assert.equal(judgeSingleFields(goodFacts).result, "pass");
  const twice = judgeSingleFields(withFields(["subject", "Again"]));
  assert.deepEqual([twice.result, twice.found], ["fail", "The header has subject more than once."]);
  assert.equal(judgeSingleFields(withFields(["Received", "a"], ["received", "b"])).result, "pass");
});

test("From has one address", () => {
  const of = (value: string | undefined) => judgeFromAddress(withFields(["From", value])).result;
  assert.equal(of("a@example.com"), "pass");
  assert.equal(of('"a, b" <a@example.com>'), "pass");
  assert.equal(of("a@example.com, b@example.com"), "fail");
  assert.equal(of("nobody"), "fail");
  assert.equal(of(undefined), "fail");
  assert.equal(of('"x@evil.test x" <a@example.com>'), "pass");
});

test("Date and Message-ID have the form of RFC 5322", () => {
  const date = (value: string | undefined) => judgeDate(withFields(["Date", value])).result;
  assert.deepEqual(
    ["Wed, 18 Nov 2026 14:00:00 +0000", "8 Nov 2026 14:00 -0130", "Wed, 18 Nov 2026 14:00:00 +0000 (UTC)"].map(date),
    ["pass", "pass", "pass"],
  );
  assert.deepEqual(["yesterday", "2026-11-18T14:00:00Z", "Wed, 18 Nov 26 14:00 GMT", undefined].map(date), [
    "fail",
    "fail",
    "fail",
    "fail",
  ]);
  const id = (value: string | undefined) => judgeMessageId(withFields(["Message-ID", value])).result;
  assert.deepEqual(
    ["<a@b.test>", "a b", "<a>", undefined].map(id).map((result) => result === "pass"),
    [true, false, false, false],
  );
});

test("lines have at most 998 bytes and end with CRLF, and the header is ASCII", () => {
  assert.equal(judgeLineLength(withMessage({ longestLine: 998 })).result, "pass");
  assert.equal(judgeLineLength(withMessage({ longestLine: 999 })).result, "fail");
  assert.equal(judgeLineLength(withMessage({ hasBareLineEnds: true })).result, "fail");
  assert.equal(judgeHeaderEncoding(withMessage({ hasRawHeader: true })).result, "fail");
});

test("a message above a published limit fails and names the receivers", () => {
  assert.equal(judgeSize(withMessage({ sizeBytes: 25_000_000 })).result, "pass");
  const large = judgeSize(withMessage({ sizeBytes: 30_000_000 }));
  assert.equal(large.result, "fail");
  assert.match(large.found, /30\.0 MB; Yahoo accepts 25 MB, Outlook\.com accepts 25 MB\./);
  assert.match(judgeSize(withMessage({ sizeBytes: 60_000_000 })).found, /Gmail accepts 50 MB/);
});

test("HTML needs text next to it", () => {
  assert.equal(judgeTextPart(goodFacts).result, "pass");
  assert.equal(judgeTextPart(withMessage({ text: " \n" })).result, "warn");
  assert.equal(judgeTextPart(withMessage({ html: "" })).result, "pass");
  assert.equal(judgeTextPart(withMessage({ text: "", html: "" })).result, "warn");
});

test("a message that was not composed is unknown to every rule", () => {
  const facts = { ...goodFacts, message: { unanswered: "the sample could not be composed in time" } };
  for (const judge of [judgeSingleFields, judgeFromAddress, judgeDate, judgeMessageId, judgeLineLength, judgeSize])
    assert.equal(judge(facts).result, "unknown");
});
