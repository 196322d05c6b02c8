import assert from "node:assert/strict";
import { test } from "node:test";
import { shownText } from "./shown-text.ts";

test("control characters and changes of direction are written out, and other text stays", () => {
  assert.equal(shownText("a\r\nb\tc\n"), "a\nb\tc\n");
  assert.equal(shownText("\x1b[31mred\x07"), "\\u001b[31mred\\u0007");
  assert.equal(shownText("paid \u202e001$\u2066"), "paid \\u202e001$\\u2066");
  assert.equal(shownText("<script>alert(1)</script> Grüße 🙂 \ufffd"), "<script>alert(1)</script> Grüße 🙂 \ufffd");
});
