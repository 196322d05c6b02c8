import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOf, readNavigation, resolveLink } from "./site.ts";

test("every Markdown file of the documentation has an address, and no other file", () => {
  assert.equal(addressOf("docs/README.md"), "/docs");
  assert.equal(addressOf("docs/keys.md"), "/docs/keys");
  assert.equal(addressOf("docs/reference/README.md"), "/docs/reference");
  assert.equal(addressOf("docs/reference/email.md"), "/docs/reference/email");
  assert.equal(addressOf("sdk/README.md"), "/docs/sdk");
  assert.equal(addressOf("README.md"), undefined);
  assert.equal(addressOf("docs/openapi.json"), undefined);
});

test("links are resolved from the folder of their page", () => {
  assert.equal(resolveLink("docs/reference/email.md", "../keys.md#limits"), "/docs/keys#limits");
  assert.equal(resolveLink("docs/keys.md", "decisions/"), "/docs/decisions");
  assert.equal(resolveLink("docs/keys.md", "#limits"), "#limits");
  assert.equal(resolveLink("docs/keys.md", "openapi.json"), "/openapi.json");
  assert.equal(resolveLink("docs/keys.md", "mailto:a@b.test"), "mailto:a@b.test");
  assert.equal(resolveLink("docs/operate.md", "../compose.yaml"), undefined);
});

test("the navigation is read from the list of pages", () => {
  const text = "# Docs\n\nIntro.\n\n## Start\n\n- [Keys](keys.md): about keys.\n- [File](../Dockerfile): not a page.\n";
  assert.deepEqual(readNavigation(text), [
    { title: "Start", links: [{ address: "/docs/keys", label: "Keys", about: "about keys." }] },
  ]);
});
