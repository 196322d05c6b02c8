import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleMetadata, samplePayload } from "./sample.ts";

test("sample events are marked in their metadata and use only example domains", () => {
  assert.deepEqual(sampleMetadata, { posthornTest: "true" });
  for (const type of ["email.delivered", "email.bounced", "email.replied", "domain.updated", "webhook.disabled"]) {
    const text = JSON.stringify(samplePayload(type));
    // RFC 2606 §3: reserved example domains.
    for (const [, domain] of text.matchAll(/[@/]([\w-]+(?:\.[\w-]+)+)/g)) assert.match(domain!, /^example\.(com|org)$/);
    assert.ok(text.length > 40, type);
  }
});

test("an unknown type has no sample, also if objects inherit a property of that name", () => {
  for (const type of ["email.eaten", "", "toString", "__proto__"]) assert.equal(samplePayload(type), undefined, type);
});
