import assert from "node:assert/strict";
import { test } from "node:test";
import { OidcRefusal, oidcReasons, oidcSentences } from "./oidc-refusal.ts";

test("every reason has a constant for programs and a sentence for people", () => {
  for (const reason of oidcReasons) {
    assert.match(reason, /^oidc_[a-z_]+$/);
    assert.match(oidcSentences[reason], /^[A-Z].*[.]$|EMAIL$/, reason);
  }
  assert.equal(new Set(Object.values(oidcSentences)).size, oidcReasons.length, "no two reasons read alike");
});

test("a refusal has the sentence of its reason, never the text of its cause", () => {
  const refusal = new OidcRefusal("oidc_nonce", { cause: new Error("<b>provider</b>"), personId: "p" });
  assert.deepEqual([refusal.message, refusal.reason, refusal.personId], [oidcSentences.oidc_nonce, "oidc_nonce", "p"]);
});
