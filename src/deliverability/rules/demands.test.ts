import assert from "node:assert/strict";
import { test } from "node:test";
import { checkIds, demands, sources, statedBy, worstOf } from "./demands.ts";

test("every source is a dated page of its receiver, and every row has a title", () => {
  for (const { url, published } of Object.values(sources)) {
    assert.equal(new URL(url).protocol, "https:");
    assert.ok(!Number.isNaN(Date.parse(published)), published);
  }
  const titles = checkIds.map((id) => demands[id].title);
  assert.equal(new Set(titles).size, titles.length);
});

test("a row fails where a receiver requires it of this mail, and warns otherwise", () => {
  assert.deepEqual([worstOf("dmarc", true), worstOf("dmarc", false)], ["fail", "warn"]);
  assert.deepEqual([worstOf("ptr", true), worstOf("ptr", false)], ["fail", "fail"]);
  assert.deepEqual([worstOf("text-part", true), worstOf("blocklist-domain", false)], ["warn", "fail"]);
});

test("each receiver is named once per row", () => {
  for (const id of checkIds) {
    const names = statedBy(id, true).map(({ receiver }) => receiver);
    assert.equal(new Set(names).size, names.length, id);
  }
});
