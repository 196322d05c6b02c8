import assert from "node:assert/strict";
import { test } from "node:test";
import { createSecrets } from "./secrets.ts";

const secrets = createSecrets("a secret of thirty-two characters!!");

test("what is sealed opens again in its own place only", () => {
  const sealed = secrets.seal("-----BEGIN PRIVATE KEY-----", "dkim:1");
  assert.ok(!sealed.includes("PRIVATE"));
  assert.equal(secrets.open(sealed, "dkim:1"), "-----BEGIN PRIVATE KEY-----");
  assert.throws(() => secrets.open(sealed, "dkim:2"));
  assert.throws(() => createSecrets("another secret of thirty-two chars!").open(sealed, "dkim:1"));
});

test("a changed byte is noticed", () => {
  const sealed = secrets.seal("text", "x");
  const bytes = Buffer.from(sealed.slice(3), "base64");
  bytes[bytes.length - 1]! ^= 1;
  assert.throws(() => secrets.open(`s1.${bytes.toString("base64")}`, "x"));
});

test("keys for different uses differ", () => {
  assert.notDeepEqual(secrets.derive("a"), secrets.derive("b"));
});
