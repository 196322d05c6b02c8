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
