import assert from "node:assert/strict";
import { test } from "node:test";
import { createSecrets } from "./sealing.ts";

const secrets = createSecrets("a secret of thirty-two characters!!");

test("a sealed text opens only with its own context and secret", () => {
  const sealed = secrets.seal("-----BEGIN PRIVATE KEY-----", "dkim:1");
  assert.ok(!sealed.includes("PRIVATE"));
  assert.equal(secrets.open(sealed, "dkim:1"), "-----BEGIN PRIVATE KEY-----");
  assert.throws(() => secrets.open(sealed, "dkim:2"));
  assert.throws(() => createSecrets("another secret of thirty-two chars!").open(sealed, "dkim:1"));
});

test("a sealed text with a changed byte does not open", () => {
  const sealed = secrets.seal("text", "x");
  const bytes = Buffer.from(sealed.slice(3), "base64");
  bytes[bytes.length - 1]! ^= 1;
  assert.throws(() => secrets.open(`s1.${bytes.toString("base64")}`, "x"));
});

test("keys derived for different purposes differ", () => {
  assert.notDeepEqual(secrets.derive("a"), secrets.derive("b"));
});
