import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { attribute, explainUnattributed, unattributedReasons } from "./attribution.ts";

const recipientsOf = (count: number, expired = false) =>
  Array.from({ length: count }, (_, position) => ({ position, expired }));

test("a report is about the recipient of its position, and about no other one", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 50 }), fc.nat(60), fc.boolean(), (count, position, isBounce) => {
      const found = attribute(isBounce ? "bounce" : "complaint", position, recipientsOf(count));
      if (position < count) assert.deepEqual(found, { recipient: { position, expired: false } });
      else assert.ok("reason" in found);
    }),
  );
});

test("a shared return path counts for the only recipient of an email, and for none of several", () => {
  assert.deepEqual(attribute("bounce", undefined, recipientsOf(1)), { recipient: { position: 0, expired: false } });
  for (const kind of ["bounce", "complaint"] as const) {
    assert.deepEqual(attribute(kind, undefined, recipientsOf(2)), { reason: "shared_path" });
    assert.deepEqual(attribute(kind, undefined, []), { reason: "shared_path" });
  }
});

test("a late bounce is about no recipient, a late complaint counts", () => {
  assert.deepEqual(attribute("bounce", 1, recipientsOf(2, true)), { reason: "expired" });
  assert.deepEqual(attribute("bounce", undefined, recipientsOf(1, true)), { reason: "expired" });
  assert.deepEqual(attribute("complaint", 1, recipientsOf(2, true)), { recipient: { position: 1, expired: true } });
});

test("every reason has an explanation of its own", () => {
  assert.equal(new Set(unattributedReasons.map(explainUnattributed)).size, unattributedReasons.length);
});
