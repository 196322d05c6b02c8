import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { firstUuidAt, fromWireId, type IdKind, idPrefixes, makeUuid, toWireId, uuidTime } from "./ids.ts";

test("a UUIDv7 contains its time and sorts by it", () => {
  const a = makeUuid(1_700_000_000_000);
  const b = makeUuid(1_700_000_000_001);
  assert.equal(uuidTime(a), 1_700_000_000_000);
  assert.match(a, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.ok(a < b);
  assert.ok(firstUuidAt(1_700_000_000_000) <= a);
  assert.ok(firstUuidAt(1_700_000_000_001) > a);
});

test("a wire id is parsed to its UUID, and only as its own kind", () => {
  for (const kind of Object.keys(idPrefixes) as IdKind[]) {
    const uuid = makeUuid(Date.now());
    assert.equal(fromWireId(kind, toWireId(kind, uuid)), uuid);
    for (const other of Object.keys(idPrefixes) as IdKind[]) {
      if (other !== kind) assert.equal(fromWireId(other, toWireId(kind, uuid)), undefined);
    }
  }
});

test("any other text is not an id", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      assert.equal(fromWireId("email", text), undefined);
      assert.equal(fromWireId("email", `em_${text}`), undefined);
    }),
  );
});
