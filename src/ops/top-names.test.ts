import assert from "node:assert/strict";
import { test } from "node:test";
import { createTopNames } from "./top-names.ts";

const minuteMs = 60_000;

function create(limit: number, candidates = 100) {
  const dropped: string[] = [];
  const names = createTopNames({
    limit,
    candidates,
    everyMs: 10 * minuteMs,
    onDropped: (name) => dropped.push(name),
  });
  return { names, dropped };
}

test("the first names get their own label, later ones share other", () => {
  const { names } = create(2);
  assert.deepEqual(
    ["a", "b", "c", "a", "c"].map((name) => names.labelOf(name, 0)),
    ["a", "b", "other", "a", "other"],
  );
});

test("at the next ranking, a busier name takes the label of the least used one", () => {
  const { names, dropped } = create(2);
  for (let i = 0; i < 50; i++) names.labelOf("a", 0);
  names.labelOf("b", 0);
  for (let i = 0; i < 20; i++) assert.equal(names.labelOf("c", minuteMs), "other");
  assert.equal(names.labelOf("c", 10 * minuteMs), "c");
  assert.deepEqual(dropped, ["b"]);
  assert.equal(names.labelOf("a", 10 * minuteMs), "a");
  assert.equal(names.labelOf("b", 10 * minuteMs), "other");
});

test("rare names never replace a label, however many there are", () => {
  const { names, dropped } = create(3);
  for (const name of ["x", "y", "z"]) names.labelOf(name, 0);
  for (let i = 0; i < 100_000; i++) names.labelOf(`${i}.example`, i * 100);
  assert.deepEqual(dropped, []);
});

test("a busy name gets its label even in a flood of rare names", () => {
  const { names } = create(2, 50);
  for (const name of ["junk1", "junk2"]) names.labelOf(name, 0);
  for (let i = 0; i < 20_000; i++) {
    names.labelOf(`${i}.example`, 1);
    names.labelOf("busy.example", 1);
  }
  assert.equal(names.labelOf("busy.example", 10 * minuteMs), "busy.example");
});
