import assert from "node:assert/strict";
import { test } from "node:test";
import { createNames, nameKeptMs } from "./statement-names.ts";

test("500 texts have a name, and a name is given up when its text was not used for a day", () => {
  let nowMs = 0;
  const names = createNames(() => nowMs);
  const first = Array.from({ length: 500 }, (_, i) => names.of(`select ${i}`));
  assert.equal(new Set(first).size, 500);
  assert.equal(names.of("select 'one more'"), undefined);
  nowMs = nameKeptMs - 1;
  for (let i = 1; i < 500; i++) assert.equal(names.of(`select ${i}`), first[i]);
  assert.equal(names.of("select 'one more'"), undefined);
  nowMs = nameKeptMs;
  const added = names.of("select 'one more'");
  assert.ok(added && !first.includes(added));
  assert.equal(names.of("select 0"), undefined, "the text whose name was given up");
  assert.equal(names.of("select 1"), first[1]);
  assert.ok(names.renew("select 1"));
  assert.ok(!first.includes(names.of("select 1")));
  assert.equal(names.renew("select 0"), false);
});

test("a text that is used often takes the name of the rarest one, but only so many a day", () => {
  let nowMs = 0;
  const names = createNames(() => nowMs);
  for (let i = 0; i < 500; i++) names.of(`rare ${i}`);
  const useOften = (text: string) => Array.from({ length: 100 }, () => names.of(text)).at(-1);
  for (let i = 0; i < 99; i++) assert.equal(names.of("often"), undefined);
  const name = names.of("often");
  assert.equal(name, "s501");
  assert.equal(names.of("often"), name);
  assert.equal(names.of("rare 1"), "s2", "the others keep theirs");
  assert.equal(names.of("rare 0"), undefined);
  for (let i = 1; i < 100; i++) assert.ok(useOften(`often ${i}`));
  assert.equal(useOften("one too many"), undefined);
  assert.equal(names.of("often"), name);
  nowMs = nameKeptMs - 1;
  for (let i = 1; i < 100; i++) names.of(`often ${i}`);
  for (let i = 101; i < 500; i++) names.of(`rare ${i}`);
  nowMs++;
  assert.ok(useOften("on the next day"));
});

test("texts that are generated for each call take no names", () => {
  const names = createNames(() => 0);
  for (let i = 0; i < 500; i++) names.of(`kept ${i}`);
  for (let i = 0; i < 5000; i++) assert.equal(names.of(`generated ${i}`), undefined);
  for (let i = 0; i < 500; i++) assert.equal(names.of(`kept ${i}`), `s${i + 1}`);
});
