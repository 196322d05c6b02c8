import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { parseAddress } from "./address.ts";
import { makeReturnPath, readReturnPath } from "./return-path.ts";

const key = Buffer.alloc(32, 7);
const anyEmailId = fc.uuid().map((uuid) => `em_${uuid}`);

test("a return path leads back to its email, in any case and from either kind of key", () => {
  fc.assert(
    fc.property(anyEmailId, (emailId) => {
      const path = makeReturnPath({ emailId, domain: "bounce.example.com", key });
      assert.equal(readReturnPath(path, key), emailId);
      assert.equal(readReturnPath(path.toUpperCase(), createSecretKey(key)), emailId);
      assert.ok(path.split("@")[0]!.length <= 64);
      assert.ok(parseAddress(path).ok);
    }),
  );
});

test("no change of a single character is let through", () => {
  const emailId = "em_01932c5e-7b1a-7abc-8def-0123456789ab";
  const path = makeReturnPath({ emailId, domain: "bounce.example.com", key });
  for (let i = 0; i < path.indexOf("@"); i++) {
    for (const char of "az27-=") {
      if (path[i] === char) continue;
      assert.equal(readReturnPath(path.slice(0, i) + char + path.slice(i + 1), key), undefined, `position ${i}`);
    }
  }
});

test("another key, another address and noise name no email", () => {
  const path = makeReturnPath({
    emailId: "em_01932c5e-7b1a-7abc-8def-0123456789ab",
    domain: "bounce.example.com",
    key,
  });
  assert.equal(readReturnPath(path, Buffer.alloc(32, 8)), undefined);
  fc.assert(
    fc.property(
      fc.string(),
      (text) => readReturnPath(text, key) === undefined && readReturnPath(`rp-${text}@b.example`, key) === undefined,
    ),
  );
});

test("the address stays the same for ever: mail on its way must find back", () => {
  assert.equal(
    makeReturnPath({ emailId: "em_01932c5e-7b1a-7abc-8def-0123456789ab", domain: "bounce.example.com", key }),
    "rp-agjsyxt3dj5lzdppaerukz4jvmvmst3h3kbmiuaw2cczxpodruwq@bounce.example.com",
  );
});
