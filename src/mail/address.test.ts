import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { parseAddress } from "./address.ts";
import { formatAddressHeader } from "./address-header.ts";

type Corpus = {
  accepted: { input: string; address: string; name: string; smtputf8: boolean }[];
  refused: { input: string; reason: string }[];
};
const corpus: Corpus = JSON.parse(readFileSync(new URL("../../test/corpus/addresses.json", import.meta.url), "utf8"));

test("every valid address of the corpus is parsed exactly", () => {
  for (const { input, ...expected } of corpus.accepted) {
    const result = parseAddress(input);
    assert.ok(result.ok, `${JSON.stringify(input)} was refused: ${result.ok ? "" : result.reason}`);
    const { address, name, smtputf8, local, domain } = result.address;
    assert.deepEqual(
      { address, name, smtputf8 },
      { address: expected.address, name: expected.name, smtputf8: expected.smtputf8 },
    );
    assert.equal(`${local}@${domain}`, address);
  }
});

test("every other address of the corpus is refused with its own reason", () => {
  for (const { input, reason } of corpus.refused) {
    const result = parseAddress(input);
    assert.ok(!result.ok, `${JSON.stringify(input)} was accepted as ${JSON.stringify(result)}`);
    assert.ok(result.reason.includes(reason), `${JSON.stringify(input)}: ${result.reason}`);
    assert.ok(result.reason.length < 300, "a reason does not repeat a long input");
  }
});

test("an unpaired surrogate is refused", () => {
  const result = parseAddress("a\ud83d <a@example.com>");
  assert.ok(!result.ok && result.reason.includes("valid Unicode"));
});

const atext = fc.constantFrom(..."abcXYZ019!#$%&'*+-/=?^_`{|}~");
const atom = fc.string({ unit: fc.oneof(atext, fc.constantFrom(..."éß用ж")), minLength: 1, maxLength: 8 });
const local = fc.array(atom, { minLength: 1, maxLength: 3 }).map((atoms) => atoms.join("."));
const label = fc.stringMatching(/^[a-z0-9]([a-z0-9]{0,8}[a-z0-9])?$/);
const domain = fc.tuple(label, fc.constantFrom("example", "test", "com")).map((labels) => labels.join("."));

test("an address formatted as a header parses back to the same address", () => {
  const name = fc.string({ unit: fc.stringMatching(/^[ -~]$/), maxLength: 60 }).filter((text) => !text.includes("=?"));
  fc.assert(
    fc.property(name, local, domain, (name, local, domain) => {
      const quoted = `"${name.replace(/[\\"]/g, "\\$&")}" <${local}@${domain}>`;
      const first = parseAddress(quoted);
      assert.ok(first.ok, first.ok ? "" : first.reason);
      const field = formatAddressHeader("To", [first.address], { utf8: true });
      const second = parseAddress(field.slice("To:".length).replaceAll("\r\n", ""));
      assert.deepEqual(second, first);
    }),
  );
});

test("every accepted address is safe to write into envelope and header", () => {
  const hostile = fc.string({
    unit: fc.oneof(
      fc.constantFrom(...'a.@<>"\\(),:;[] \t\r\n\0%=?-ü\u200b＠．'),
      fc.string({ unit: "binary", maxLength: 1 }),
    ),
    maxLength: 40,
  });
  const near = fc.tuple(hostile, local, hostile, domain, hostile).map(([a, b, c, d, e]) => `${a}${b}${c}@${d}${e}`);
  fc.assert(
    fc.property(fc.oneof(hostile, near), (text) => {
      const result = parseAddress(text);
      if (!result.ok) return;
      const { address, local, domain, name } = result.address;
      assert.match(domain, /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/);
      assert.doesNotMatch(address + name, /[\r\n\0]/);
      assert.doesNotMatch(local, /[\s<>@"(),:;[\]\\]/);
      assert.ok(Buffer.byteLength(local) <= 64 && domain.length <= 253 && Buffer.byteLength(address) <= 254);
      assert.equal(result.address.smtputf8, /[^\x00-\x7f]/.test(address));
    }),
    { numRuns: 3000 },
  );
});

test("the canonical form of an accepted address parses to the same address", () => {
  fc.assert(
    fc.property(local, domain, (local, domain) => {
      const first = parseAddress(`${local}@${domain}`);
      assert.ok(first.ok);
      assert.deepEqual(parseAddress(first.address.address), first);
    }),
  );
});
