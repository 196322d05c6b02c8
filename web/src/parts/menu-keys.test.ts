import assert from "node:assert/strict";
import { test } from "node:test";
import { nextItem } from "./menu-keys.ts";

const labels = ["System", "Light", "Sign out"];

test("arrows go around, Home and End to the ends", () => {
  assert.equal(nextItem("ArrowDown", labels, 0), 1);
  assert.equal(nextItem("ArrowDown", labels, 2), 0);
  assert.equal(nextItem("ArrowUp", labels, 0), 2);
  assert.equal(nextItem("Home", labels, 2), 0);
  assert.equal(nextItem("End", labels, 0), 2);
});

test("without a focused item, the arrows start at the ends", () => {
  assert.equal(nextItem("ArrowDown", labels, -1), 0);
  assert.equal(nextItem("ArrowUp", labels, -1), 2);
});

test("a letter goes to the next item that starts with it", () => {
  assert.equal(nextItem("s", labels, 0), 2);
  assert.equal(nextItem("S", labels, 2), 0);
  assert.equal(nextItem("l", labels, 1), 1);
});

test("other keys and an empty menu lead nowhere", () => {
  for (const key of ["Enter", " ", "Escape", "x"]) assert.equal(nextItem(key, labels, 0), undefined);
  assert.equal(nextItem("ArrowDown", [], -1), undefined);
});
