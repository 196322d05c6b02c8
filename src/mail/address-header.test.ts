import assert from "node:assert/strict";
import { test } from "node:test";
import { type Address, parseAddress } from "./address.ts";
import { formatAddressHeader } from "./address-header.ts";

function address(text: string): Address {
  const result = parseAddress(text);
  assert.ok(result.ok, `${text}: ${result.ok ? "" : result.reason}`);
  return result.address;
}

const written = (...texts: string[]) => formatAddressHeader("To", texts.map(address));

test("an ASCII display name is written plainly, or in quotes where it has special characters", () => {
  assert.equal(written("a@example.com"), "To: a@example.com\r\n");
  assert.equal(written("Ann Example <a@example.com>"), "To: Ann Example <a@example.com>\r\n");
  assert.equal(written('"Doe, Jane" <a@example.com>'), 'To: "Doe, Jane" <a@example.com>\r\n');
  assert.equal(written('"a \\"b\\" \\\\" <a@example.com>'), 'To: "a \\"b\\" \\\\" <a@example.com>\r\n');
  assert.equal(written("J. Doe <a@example.com>"), 'To: "J. Doe" <a@example.com>\r\n');
});

test("a non-ASCII display name becomes encoded words with the characters that a phrase allows", () => {
  assert.equal(written("Jörg Example <a@example.com>"), "To: =?UTF-8?Q?J=C3=B6rg_Example?= <a@example.com>\r\n");
  assert.equal(written('"Jörg, (x)" <a@example.com>'), "To: =?UTF-8?B?SsO2cmcsICh4KQ==?= <a@example.com>\r\n");
  assert.equal(written("山田 <a@example.jp>"), "To: =?UTF-8?B?5bGx55Sw?= <a@example.jp>\r\n");
});

test("a display name that looks like an encoded word is encoded again, so that readers show it unchanged", () => {
  const literal = { ...address("a@example.com"), name: "=?utf-8?q?x?=" };
  assert.match(formatAddressHeader("To", [literal]), /^To: =\?UTF-8\?[QB]\?[^ ]+\?= <a@example\.com>\r\n$/);
});

test("long lists and long names are folded at 78 columns", () => {
  const field = written(
    ...Array.from(
      { length: 20 },
      (_, i) => `Überlange Namen werden in mehrere Wörter zerlegt ${i} <p${i}@example.com>`,
    ),
  );
  for (const line of field.split("\r\n")) assert.ok(line.length <= 78, line);
  assert.equal(field.match(/@example\.com>/g)?.length, 20);
});

test("a non-ASCII local part is written unchanged with SMTPUTF8, and as an empty group without it", () => {
  const two = [address("Jörg <jörg@bücher.example>"), address("b@example.com")];
  assert.equal(
    formatAddressHeader("To", two, { utf8: true }),
    "To: =?UTF-8?B?SsO2cmc=?= <jörg@xn--bcher-kva.example>, b@example.com\r\n",
  );
  const plain = formatAddressHeader("To", two);
  assert.match(plain, /^[\x00-\x7f]*$/);
  assert.match(plain.replaceAll("\r\n", ""), /^To: (=\?UTF-8\?B\?[^ ]+\?= )+:;, b@example\.com$/);
});

test("an address with a line break throws", () => {
  assert.throws(() =>
    formatAddressHeader("To", [{ ...address("a@example.com"), address: "a@example.com>\r\nBcc: <x@evil.example" }]),
  );
});
