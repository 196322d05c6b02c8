import assert from "node:assert/strict";
import { test } from "node:test";
import { legacyNameTokens, parameterTokens } from "./parameter.ts";

test("an ASCII file name is a quoted string", () => {
  assert.deepEqual(parameterTokens("filename", "a report (1).pdf"), ['filename="a report (1).pdf"']);
  assert.deepEqual(legacyNameTokens("a.pdf"), ['name="a.pdf"']);
});

test("other file names are percent-encoded with their charset", () => {
  assert.deepEqual(parameterTokens("filename", "naïve.txt"), ["filename*=UTF-8''na%C3%AFve.txt"]);
  assert.deepEqual(parameterTokens("filename", "a\"b\\c%d*e'f"), ["filename*=UTF-8''a%22b%5Cc%25d%2Ae%27f"]);
});

test("a long file name is split into sections that fit a line", () => {
  const tokens = parameterTokens("filename", `${"文".repeat(60)}.txt`);
  assert.ok(tokens.length > 1);
  for (const [index, token] of tokens.entries()) {
    assert.ok(token.startsWith(`filename*${index}*=`) && token.length <= 76, token);
  }
  const joined = tokens.map((token) => token.slice(token.indexOf("=") + 1)).join("");
  assert.equal(decodeURIComponent(joined.slice("UTF-8''".length)), `${"文".repeat(60)}.txt`);
  assert.ok(parameterTokens("filename", "a".repeat(255)).length > 1);
});

test("the legacy name is an encoded word in quotes, and is omitted for special ASCII characters", () => {
  assert.deepEqual(legacyNameTokens("naïve.txt"), ['name="=?UTF-8?Q?na=C3=AFve=2Etxt?="']);
  assert.deepEqual(legacyNameTokens('a"b.txt'), []);
});
