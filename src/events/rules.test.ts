import assert from "node:assert/strict";
import { test } from "node:test";
import { cursorText, isSameLog, lastShared, lastSharedSince, parseCursor } from "./rules.ts";

const cuts = ["88aaaaaa", "150bbbbbb", "60cccccc"];

test("a cursor is a plain number until the first cut, then it names the newest cut before its event", () => {
  assert.equal(cursorText(205n, []), "205");
  assert.equal(cursorText(88n, ["88aaaaaa"]), "88");
  assert.equal(cursorText(89n, ["88aaaaaa"]), "89-88aaaaaa");
  assert.equal(cursorText(200n, ["88aaaaaa", "150bbbbbb"]), "200-150bbbbbb");
  assert.equal(cursorText(120n, ["88aaaaaa", "150bbbbbb"]), "120-88aaaaaa");
  assert.equal(cursorText(61n, cuts), "61-60cccccc", "the last cut lost what the first two kept");
  assert.equal(cursorText(60n, cuts), "60");
});

test("a cursor is read back, and other texts are not cursors", () => {
  assert.deepEqual(parseCursor("205"), { number: 205n, cut: undefined });
  assert.deepEqual(parseCursor("89-88aaaaaa"), { number: 89n, cut: "88aaaaaa" });
  for (const text of [
    "",
    "-1",
    "1.5",
    "89-",
    "89-aaaaaa",
    "89-88",
    "89-88AAAAAA",
    "89-88aaaaaa ",
    " 89",
    "1".repeat(101),
  ])
    assert.equal(parseCursor(text), undefined, text);
});

test("a cursor shares the log up to the first event that any later cut lost", () => {
  assert.equal(lastShared({ cut: undefined }, []), undefined, "nothing was lost");
  assert.equal(lastShared({ cut: undefined }, ["88aaaaaa"]), 88n);
  assert.equal(lastShared({ cut: "88aaaaaa" }, ["88aaaaaa"]), undefined, "the newest cut");
  assert.equal(lastShared({ cut: "88aaaaaa" }, ["88aaaaaa", "150bbbbbb"]), 150n);
  assert.equal(lastShared({ cut: undefined }, cuts), 60n);
  assert.equal(lastShared({ cut: "88aaaaaa" }, cuts), 60n);
  assert.equal(lastShared({ cut: "60cccccc" }, cuts), undefined);
});

test("a cursor of a cut that the database has lost shares at most what that cut kept", () => {
  assert.equal(lastShared({ cut: "50zzzzzz" }, cuts), 50n);
  assert.equal(lastShared({ cut: "70zzzzzz" }, cuts), 60n);
  assert.equal(lastShared({ cut: "70zzzzzz" }, []), 70n);
});

test("a reader that followed the log shares it up to the new cuts", () => {
  assert.equal(lastSharedSince([], []), undefined);
  assert.equal(lastSharedSince([], ["88aaaaaa"]), 88n);
  assert.equal(lastSharedSince(["88aaaaaa"], ["88aaaaaa", "150bbbbbb"]), 150n);
  assert.equal(lastSharedSince(["88aaaaaa"], ["60cccccc"]), 60n, "a restore from before the first cut");
  assert.equal(lastSharedSince(["50zzzzzz"], ["60cccccc"]), 50n);
  assert.equal(
    lastSharedSince(["30xxxxxx", "88aaaaaa"], ["30xxxxxx", "60cccccc"]),
    60n,
    "both logs have the first cut",
  );
  assert.equal(lastSharedSince(["150aaaaaa"], []), 150n, "the cut itself was lost");
});

test("two lists of cuts are compared by their names", () => {
  assert.equal(isSameLog(["88aaaaaa"], ["88aaaaaa"]), true);
  assert.equal(isSameLog(["88aaaaaa"], ["88bbbbbb"]), false);
});
