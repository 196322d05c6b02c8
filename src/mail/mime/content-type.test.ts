import assert from "node:assert/strict";
import { test } from "node:test";
import { parseContentType, transportType } from "./content-type.ts";

test("a media type is parsed with its parameters, without name and boundary", () => {
  for (const [text, type, parameters] of [
    ["image/png", "image/png", []],
    ["IMAGE/PNG", "image/png", []],
    [
      "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
      "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
      [],
    ],
    [
      "text/calendar; method=REQUEST; charset=utf-8",
      "text/calendar",
      [
        ["method", "REQUEST"],
        ["charset", "utf-8"],
      ],
    ],
    ['text/plain;charset="utf-8" ;', "text/plain", [["charset", "utf-8"]]],
    ['application/pdf; name="other.pdf"; boundary=x', "application/pdf", []],
  ] as const) {
    assert.deepEqual(parseContentType(text), { ok: true, contentType: { type, parameters } }, text);
  }
});

test("text that is not a media type is refused", () => {
  for (const text of [
    "",
    "image",
    "image/",
    "/png",
    "image/png/x",
    "image png",
    "image/png\r\nX: y",
    "text/plain; x",
    'text/plain; x="a',
    "text/plain; x=a b",
    "text/plain (c)",
    "ümage/png",
    `image/${"x".repeat(300)}`,
  ]) {
    const result = parseContentType(text);
    assert.ok(!result.ok && result.reason.startsWith("The content type"), text);
    assert.doesNotMatch(result.reason, /[\r\n]/);
  }
});

test("types that must not be base64 are sent as application/octet-stream", () => {
  assert.equal(transportType({ type: "message/rfc822", parameters: [] }).type, "application/octet-stream");
  assert.equal(transportType({ type: "multipart/mixed", parameters: [] }).type, "application/octet-stream");
  assert.equal(transportType({ type: "message/global", parameters: [] }).type, "message/global");
});
