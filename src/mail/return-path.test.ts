import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { parseAddress } from "./address.ts";
import {
  findTokens,
  makeCopyToken,
  makeReturnPath,
  makeSharedReturnPath,
  readCopyToken,
  readReturnPath,
} from "./return-path.ts";

const key = Buffer.alloc(32, 7);
const domain = "bounce.example.com";
const emailId = "em_01932c5e-7b1a-7abc-8def-0123456789ab";
const anyEmailId = fc.uuid().map((uuid) => `em_${uuid}`);
const anyPosition = fc.integer({ min: 0, max: 0xffff });

test("a return path yields its email and position, in upper and lower case and with either type of key", () => {
  fc.assert(
    fc.property(anyEmailId, anyPosition, (emailId, position) => {
      const path = makeReturnPath({ emailId, position, domain, key });
      assert.deepEqual(readReturnPath(path, [key]), { emailId, position });
      assert.deepEqual(readReturnPath(path.toUpperCase(), [createSecretKey(key)]), { emailId, position });
      assert.deepEqual(readReturnPath(path.split("@")[0]!, [key]), { emailId, position });
      assert.ok(path.split("@")[0]!.length <= 64);
      assert.ok(parseAddress(path).ok);
      assert.equal(makeReturnPath({ emailId, position, domain, key }), path, "one address per recipient");
    }),
  );
});

test("the recipients of an email have different return paths, of which no part shows the position", () => {
  fc.assert(
    fc.property(anyEmailId, (emailId) => {
      const locals = Array.from({ length: 50 }, (_, position) => localOf({ emailId, position }));
      assert.equal(new Set(locals).size, 50);
      // The characters after the email's id and the token. Without the mask, they would be in the order of the positions.
      const hidden = locals.map((local) => local.slice(-4));
      assert.notDeepEqual(hidden, hidden.toSorted());
    }),
  );
  // Over many emails, the first recipient's hidden octets take many values.
  const firsts = fc.sample(anyEmailId, { numRuns: 200, seed: 1 }).map((id) => localOf({ emailId: id, position: 0 }));
  assert.ok(new Set(firsts.map((local) => local.slice(-4))).size > 150);
});

test("a return path with one changed character is rejected, so no recipient can name another one", () => {
  for (const path of [
    makeReturnPath({ emailId, position: 3, domain, key }),
    makeSharedReturnPath({ emailId, domain, key }),
  ])
    for (let i = 0; i < path.indexOf("@"); i++) {
      for (const char of "abcdefghijklmnopqrstuvwxyz234567-=") {
        if (path[i] === char) continue;
        assert.equal(readReturnPath(path.slice(0, i) + char + path.slice(i + 1), [key]), undefined, `position ${i}`);
      }
    }
});

test("tokens of one recipient, of another email or of the earlier form cannot be combined", () => {
  fc.assert(
    fc.property(anyEmailId, anyEmailId, anyPosition, anyPosition, (one, other, p, q) => {
      fc.pre(one !== other && p !== q);
      const a = localOf({ emailId: one, position: p });
      const b = localOf({ emailId: one, position: q });
      const c = localOf({ emailId: other, position: p });
      const shared = makeSharedReturnPath({ emailId: one, domain, key }).split("@")[0]!;
      // The first 28 characters after the prefix have the email's id, the rest its token and position.
      for (const [head, tail] of [
        [a, c],
        [c, a],
        [shared, a],
      ] as const)
        assert.equal(readReturnPath(head.slice(0, 31) + tail.slice(31), [key]), undefined);
      assert.equal(readReturnPath(a.slice(0, 54) + b.slice(54), [key]), undefined);
      assert.equal(readReturnPath(a.slice(0, 55), [key]), undefined, "cut to the length of the earlier form");
    }),
  );
});

test("a different key and any other address yield nothing", () => {
  assert.equal(readReturnPath(makeReturnPath({ emailId, position: 0, domain, key }), [Buffer.alloc(32, 8)]), undefined);
  fc.assert(
    fc.property(
      fc.string(),
      (text) =>
        readReturnPath(text, [key]) === undefined && readReturnPath(`rp-${text}@b.example`, [key]) === undefined,
    ),
  );
  assert.throws(() => makeReturnPath({ emailId, position: -1, domain, key }), RangeError);
  assert.throws(() => makeReturnPath({ emailId, position: 65_536, domain, key }), RangeError);
});

test("the token of a copy is no return path, and a return path no token of a copy", () => {
  fc.assert(
    fc.property(fc.nat({ max: 65_535 }), (position) => {
      const token = makeCopyToken({ emailId, position, key });
      const [local] = makeReturnPath({ emailId, position, domain, key }).split("@");
      assert.deepEqual(readCopyToken(token.toUpperCase(), [key]), { emailId, position });
      for (const other of [token, token.replace("cp-", "rp-")])
        assert.equal(readReturnPath(`${other}@${domain}`, [key]), undefined);
      for (const other of [local!, local!.replace("rp-", "cp-")]) assert.equal(readCopyToken(other, [key]), undefined);
      assert.deepEqual(findTokens(`x ${token}, ${local}@b`), [token, local]);
    }),
  );
  const [shared] = makeSharedReturnPath({ emailId, domain, key }).split("@");
  assert.equal(readCopyToken(shared!.replace("rp-", "cp-"), [key]), undefined);
});

test("return paths are found in any text, with and without their domain", () => {
  const path = makeReturnPath({ emailId, position: 1, domain, key });
  const shared = makeSharedReturnPath({ emailId, domain, key });
  const text = `SRS0=${path.toUpperCase()} (envelope-from <${shared}>); ${path.split("@")[0]}\n rp-${"a".repeat(56)}`;
  assert.deepEqual(
    findTokens(text).map((local) => readReturnPath(local, [key])),
    [1, undefined, 1].map((position) => ({ emailId, position })),
  );
});

test("the formats of return paths never change, so that bounces of mail already sent stay readable", () => {
  assert.equal(
    makeSharedReturnPath({ emailId, domain, key }),
    "rp-agjsyxt3dj5lzdppaerukz4jvmvmst3h3kbmiuaw2cczxpodruwq@bounce.example.com",
  );
  assert.equal(
    makeReturnPath({ emailId, position: 3, domain, key }),
    "rp-agjsyxt3dj5lzdppaerukz4jvodk2o3plextntbxgdrwcodcnj4y7xq@bounce.example.com",
  );
});

function localOf(copy: { emailId: string; position: number }): string {
  return makeReturnPath({ emailId: copy.emailId, position: copy.position, domain, key }).split("@")[0]!;
}
