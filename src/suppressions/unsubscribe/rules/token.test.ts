import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { type Link, makeLinkToken, readLinkToken } from "./token.ts";

const key = { number: 1, key: randomBytes(32) };
const link: Link = {
  workspaceId: "01938a52-10aa-7c3d-8f21-6b9e0d47c5a2",
  emailId: "01938a52-10aa-7c3d-8f21-6b9e0d47c5a3",
  address: "Ada@example.net",
  topic: "news",
  domain: "example.com",
  test: false,
};

test("a token is read back, with every form of address", () => {
  for (const one of [link, { ...link, test: true }, { ...link, address: "jürgen@example.net", topic: "x".repeat(64) }])
    assert.deepEqual(readLinkToken(makeLinkToken(one, key), [key]), one);
});

test("a token shows neither the address nor the topic, and is the same each time", () => {
  const token = makeLinkToken(link, key);
  assert.equal(makeLinkToken(link, key), token);
  const octets = Buffer.from(token, "base64url").toString("latin1");
  for (const text of ["Ada", "example", "news"]) assert.ok(!octets.includes(text), text);
  assert.match(token, /^[\w-]+$/);
});

test("the longest token leaves room for the URL in one line, without a long domain", () => {
  const longest = {
    ...link,
    topic: "t".repeat(64),
    address: `${"a".repeat(64)}@${"d".repeat(189)}`,
    domain: "e".repeat(253),
  };
  const token = makeLinkToken(longest, key);
  assert.ok(token.length <= 605, String(token.length));
  assert.deepEqual(readLinkToken(token, [key]), { ...longest, domain: "" });
});

test("a token that differs in one octet, its length or its spelling is refused", () => {
  const token = makeLinkToken(link, key);
  const octets = Buffer.from(token, "base64url");
  for (let i = 0; i < octets.length; i++) {
    const changed = Buffer.from(octets);
    changed[i]! ^= 1;
    assert.equal(readLinkToken(changed.toString("base64url"), [key]), undefined, `octet ${i}`);
  }
  for (const text of [token.slice(0, -1), `${token}A`, `${token}=`, ` ${token}`, `${token}\n`, "", "A".repeat(100)])
    assert.equal(readLinkToken(text, [key]), undefined, JSON.stringify(text));
});

test("each key reads its own tokens only", () => {
  const other = { number: 1, key: randomBytes(32) };
  const next = { number: 2, key: randomBytes(32) };
  const token = makeLinkToken(link, key);
  assert.equal(readLinkToken(token, [other]), undefined);
  assert.equal(readLinkToken(token, [{ ...key, number: 2 }]), undefined);
  assert.deepEqual(readLinkToken(token, [next, key]), link);
});

test("any text is read without an error", () => {
  fc.assert(fc.property(fc.string({ maxLength: 800 }), (text) => readLinkToken(text, [key]) === undefined));
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 60, maxLength: 500 }), (bytes) => {
      const octets = Buffer.from(bytes);
      octets[0] = 1;
      return readLinkToken(octets.toString("base64url"), [key]) === undefined;
    }),
  );
});
