import assert from "node:assert/strict";
import { test } from "node:test";
import { placeBelow } from "./menu-place.ts";

const view = { width: 1000, height: 800 };

test("a menu opens below its button, at its start or its end", () => {
  const button = { left: 100, right: 180, top: 10, bottom: 44 };
  assert.deepEqual(placeBelow(button, false, view), {
    left: "100px",
    right: "auto",
    top: "50px",
    bottom: "auto",
    maxHeight: "742px",
  });
  assert.deepEqual(placeBelow(button, true, view), {
    left: "auto",
    right: "820px",
    top: "50px",
    bottom: "auto",
    maxHeight: "742px",
  });
});

test("a button at the bottom has its menu above", () => {
  const { top, bottom, maxHeight } = placeBelow({ left: 0, right: 50, top: 700, bottom: 734 }, false, view);
  assert.deepEqual({ top, bottom, maxHeight }, { top: "auto", bottom: "106px", maxHeight: "686px" });
});

test("in a low window the menu has the larger part", () => {
  const low = { width: 1000, height: 200 };
  assert.equal(placeBelow({ left: 0, right: 50, top: 10, bottom: 44 }, false, low).top, "50px");
});

test("a menu keeps a margin to the edge of the window", () => {
  assert.equal(placeBelow({ left: 2, right: 999, top: 0, bottom: 30 }, false, view).left, "8px");
  assert.equal(placeBelow({ left: 2, right: 999, top: 0, bottom: 30 }, true, view).right, "8px");
});
