import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleMetadata, samplePayload } from "./webhook-sample.ts";

test("made-up events can be told from real ones and name nobody's address", () => {
  assert.deepEqual(sampleMetadata, { posthornTest: "true" });
  for (const type of ["email.delivered", "email.bounced", "email.replied", "domain.updated", "webhook.disabled"]) {
    const text = JSON.stringify(samplePayload(type));
    // RFC 2606 §3: names that belong to nobody.
    for (const [, domain] of text.matchAll(/[@/]([\w-]+(?:\.[\w-]+)+)/g)) assert.match(domain!, /^example\.(com|org)$/);
    assert.ok(text.length > 40, type);
  }
});

test("there is none of a type that there is not, whatever objects inherit", () => {
  for (const type of ["email.eaten", "", "toString", "__proto__"]) assert.equal(samplePayload(type), undefined, type);
});
