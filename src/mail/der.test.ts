import assert from "node:assert/strict";
import { test } from "node:test";
import { der, integer, oid, sequence } from "./der.ts";

const hex = (bytes: Buffer) => bytes.toString("hex");

test("integers as X.690 has them: shortest form, never a sign by accident", () => {
  assert.equal(hex(integer(0n)), "020100");
  assert.equal(hex(integer(127n)), "02017f");
  assert.equal(hex(integer(128n)), "02020080");
  assert.equal(hex(integer(65537n)), "0203010001");
});

test("lengths of one, two and three bytes", () => {
  assert.equal(hex(der(0x04, Buffer.alloc(127)).subarray(0, 2)), "047f");
  assert.equal(hex(der(0x04, Buffer.alloc(128)).subarray(0, 3)), "048180");
  assert.equal(hex(der(0x04, Buffer.alloc(256)).subarray(0, 4)), "04820100");
});

test("a sequence holds its parts in order, an object identifier its numbers in groups of seven bits", () => {
  assert.equal(hex(sequence(integer(1n), integer(2n))), "3006020101020102");
  assert.equal(hex(oid("1.2.840.113549.1.1.1")), "06092a864886f70d010101");
});
