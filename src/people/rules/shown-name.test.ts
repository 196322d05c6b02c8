import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { shownName } from "./shown-name.ts";

for (const name of ["Olga Owner", "Żółć 名前", "O’Brien & Sons (UK)", "Dr. Who", "Acme Inc.", "Team 2026", "R+D"])
  test(`${JSON.stringify(name)} is shown`, () => assert.equal(shownName(name), name));

for (const name of [
  "URGENT your account is locked, unlock at http://evil.example",
  "evil.example",
  "evil。example",
  "evil．example",
  "www evil example: unlock",
  "mailto:a@evil.example",
  "a@evil.example",
  "//evil",
  "evil\\example",
  "<b>Acme</b>",
  "[Acme](x)",
  "a\nb",
  "a\u0000b",
  "\u202egnp",
  "zero\u200bwidth",
  "a\u2028b",
  "call 1-800-555-0199",
  "x".repeat(41),
  "",
  " ",
])
  test(`${JSON.stringify(name.slice(0, 40))} is not shown`, () => assert.equal(shownName(name), undefined));

test("no name that is shown can be turned into a link, a second line or markup", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "grapheme" }), fc.webUrl(), fc.emailAddress(), fc.domain()), (text) => {
      const shown = shownName(text) ?? "";
      assert.doesNotMatch(shown, /[:/@<>[\]_\\]|\.[^ ]|[\p{C}\p{Zl}\p{Zp}]/u);
      assert.ok([...shown].length <= 40);
    }),
    { numRuns: 2000 },
  );
});
