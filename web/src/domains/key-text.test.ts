import assert from "node:assert/strict";
import { test } from "node:test";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { RecordStatus } from "../../../src/gen/v1/domain_pb.ts";
import { keyFacts, keyFileName, keyMark } from "./key-text.ts";

test("the mark says first whether the key signs, then whether DNS has it", () => {
  const text = (status: RecordStatus, signing = false, waits = false) =>
    keyMark({ status, signing, signsFrom: waits ? timestampFromMs(0) : undefined }).text;
  assert.equal(text(RecordStatus.FOUND, true), "Signing");
  assert.equal(text(RecordStatus.FOUND, false, true), "New");
  assert.equal(text(RecordStatus.FOUND), "Standby");
  assert.equal(text(RecordStatus.MISSING), "Not in DNS");
  assert.equal(text(RecordStatus.MISMATCH), "Wrong value in DNS");
  assert.equal(text(RecordStatus.PENDING), "Not checked");
});

test("a key is described by its size, its primes if there are not two, and its origin", () => {
  assert.equal(keyFacts({ bits: 1024, primes: 2, imported: true }), "RSA-1024, imported");
  assert.equal(keyFacts({ bits: 2048, primes: 3, imported: false }), "RSA-2048 with 3 primes, made by Posthorn");
  assert.equal(keyFileName({ selector: "s1.a" }, "shop.test"), "s1.a._domainkey.shop.test.pem");
});
