import assert from "node:assert/strict";
import { test } from "node:test";
import { readAuditSearch, toFilter } from "./search.ts";

test("the filters in the URL become those of a request", () => {
  const now = new Date("2026-11-17T12:00:00Z");
  assert.deepEqual(toFilter(readAuditSearch({}), now), { action: "", actorId: "", targetId: "", from: undefined });
  const filter = toFilter(readAuditSearch({ noun: "key", since: "day", actor: "per_1", other: "x" }), now);
  assert.deepEqual([filter.action, filter.actorId, filter.targetId], ["key", "per_1", ""]);
  assert.equal(filter.from?.seconds, BigInt(Date.parse("2026-11-16T12:00:00Z") / 1000));
  assert.equal(toFilter({ since: "century" }, now).from, undefined, "an unknown period is no filter");
});
