import assert from "node:assert/strict";
import { test } from "node:test";
import { canonicalName, isAtOrBelow, joinText, sameName, showText } from "./record.ts";

test("the strings of a TXT record are joined, and the displayed text is readable and bounded", () => {
  assert.equal(joinText({ strings: ["v=DKIM1; p=AB", "CD"] }), "v=DKIM1; p=ABCD");
  assert.equal(showText(Buffer.from("grün").toString("latin1")), "grün");
  assert.equal(showText("a\nb\0"), "a\\010b\\000");
  assert.equal(showText("abcdef", 4), "abc…");
  assert.equal(showText("abcd", 4), "abcd");
});

test("names are compared without regard to ASCII case and a trailing dot", () => {
  assert.ok(sameName("Example.COM.", "example.com"));
  assert.ok(!sameName("Ä.test", "ä.test"), "only ASCII letters are folded");
  assert.equal(canonicalName("a\\."), "a\\.", "an escaped dot is part of the label");
});

test("a name is within itself, its ancestors and the root, but not within a name that is only a string suffix", () => {
  assert.ok(isAtOrBelow("a.example.com", "EXAMPLE.com."));
  assert.ok(isAtOrBelow("example.com", "example.com"));
  assert.ok(isAtOrBelow("anything.test", ""));
  assert.ok(!isAtOrBelow("badexample.com", "example.com"));
});
