import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { dkimKeyText, parseDkimRecord, samePublicKey } from "./dkim-record.ts";

test("the key text that we publish parses back to its key", () => {
  assert.deepEqual(parseDkimRecord(dkimKeyText("QUJD")), {
    ok: true,
    record: { keyType: "rsa", publicKey: "QUJD", testing: false },
  });
});

const readings: [text: string, expected: { publicKey: string } | RegExp][] = [
  ["p=QUJD", { publicKey: "QUJD" }],
  ["v=DKIM1; p=QU JD\t; n=hello", { publicKey: "QUJD" }],
  ["v=DKIM1; t=y:s; p=QUJD;", { publicKey: "QUJD" }],
  ["v=DKIM1; p=", { publicKey: "" }],
  ["k=rsa; v=DKIM1; p=QUJD", /not the first tag/],
  ["v=DKIM2; p=QUJD", /DKIM1/],
  ["v=DKIM1; k=rsa", /no p=/],
  ["v=DKIM1; p=QU*D", /base64/],
  ["v=DKIM1; p=QUJD; p=QUJD", /tag=value/],
  ["v=DKIM1; s=tlsrpt; p=QUJD", /email/],
  ["v=DKIM1; h=sha1; p=QUJD", /sha256/],
  ["v=spf1 include:a.test ~all", /DKIM1/],
  ["hello", /tag=value/],
  ["", /tag=value/],
];

for (const [text, expected] of readings) {
  test(`${JSON.stringify(text)} is ${expected instanceof RegExp ? "refused" : "parsed"}`, () => {
    const reading = parseDkimRecord(text);
    if (expected instanceof RegExp) {
      assert.ok(!reading.ok);
      assert.match(reading.problem, expected);
    } else {
      assert.ok(reading.ok);
      assert.equal(reading.record.publicKey, expected.publicKey);
    }
  });
}

test("the same key in either encoding is equal, and a different key is not", () => {
  const make = () => generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey;
  const key = make();
  const spki = key.export({ type: "spki", format: "der" });
  const pkcs1 = createPublicKey({ key: spki, format: "der", type: "spki" }).export({ type: "pkcs1", format: "der" });
  const other = make().export({ type: "spki", format: "der" });
  assert.ok(samePublicKey(spki.toString("base64"), spki.toString("base64")));
  assert.ok(samePublicKey(spki.toString("base64"), pkcs1.toString("base64")));
  assert.ok(!samePublicKey(spki.toString("base64"), other.toString("base64")));
  assert.ok(!samePublicKey("", ""));
  assert.ok(!samePublicKey("QUJD", spki.toString("base64")));
});
