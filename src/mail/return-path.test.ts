import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { parseAddress } from "./address.ts";
import { makeReturnPath, readReturnPath } from "./return-path.ts";

const key = Buffer.alloc(32, 7);
const anyEmailId = fc.uuid().map((uuid) => `em_${uuid}`);

test("a return path yields its email id, in upper and lower case and with either type of key", () => {
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

test("a return path with one changed character is rejected", () => {
  const emailId = "em_01932c5e-7b1a-7abc-8def-0123456789ab";
  const path = makeReturnPath({ emailId, domain: "bounce.example.com", key });
  for (let i = 0; i < path.indexOf("@"); i++) {
    for (const char of "az27-=") {
      if (path[i] === char) continue;
      assert.equal(readReturnPath(path.slice(0, i) + char + path.slice(i + 1), key), undefined, `position ${i}`);
    }
  }
});

test("a different key and any other address yield no email id", () => {
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

test("the format of a return path never changes, so that bounces of mail already sent stay readable", () => {
  assert.equal(
    makeReturnPath({ emailId: "em_01932c5e-7b1a-7abc-8def-0123456789ab", domain: "bounce.example.com", key }),
    "rp-agjsyxt3dj5lzdppaerukz4jvmvmst3h3kbmiuaw2cczxpodruwq@bounce.example.com",
  );
});
