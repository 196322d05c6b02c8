import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { admit } from "./admission.ts";

const rows = (site: string, count: number) => Array.from({ length: count }, () => ({ site }));
const limits = { total: 12, perSite: 4 };
const run = (stored: Record<string, number>, added: { site: string }[]) => {
  const { inserted, evicted } = admit(new Map(Object.entries(stored)), added, limits);
  return { inserted: inserted.map(({ site }) => site), evicted: Object.fromEntries(evicted) };
};

test("rows are inserted while there is space", () => {
  assert.deepEqual(run({ a: 1 }, [...rows("a", 2), ...rows("b", 1)]), { inserted: ["a", "a", "b"], evicted: {} });
});

test("a site with all its rows loses its own oldest ones", () => {
  assert.deepEqual(run({ a: 4, b: 1 }, rows("a", 2)), { inserted: ["a", "a"], evicted: { a: 2 } });
  assert.deepEqual(run({ a: 4 }, rows("a", 9)).inserted.length, 4);
});

test("in a full table, the site with the most rows makes space for a site with fewer", () => {
  assert.deepEqual(run({ a: 4, b: 4, c: 4 }, rows("d", 1)), { inserted: ["d"], evicted: { a: 1 } });
  assert.deepEqual(run({ a: 3, b: 3, c: 3, d: 3 }, rows("d", 1)), { inserted: ["d"], evicted: { d: 1 } });
});

test("a table that is full of sites with one row takes a new site instead of the first", () => {
  const full = { a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1, j: 1, k: 1, l: 1 };
  assert.deepEqual(run(full, rows("m", 3)), { inserted: ["m"], evicted: { a: 1 } });
  assert.deepEqual(run(full, [...rows("m", 1), ...rows("n", 1)]), { inserted: ["m", "n"], evicted: { a: 1, b: 1 } });
});

test("the limits hold, and a flood of one site costs no site its share", () => {
  const sites = fc.constantFrom("a", "b", "c", "d", "e", "f");
  fc.assert(
    fc.property(fc.array(fc.array(sites, { maxLength: 15 }), { maxLength: 10 }), (flushes) => {
      const counts = new Map<string, number>();
      for (const flush of flushes) {
        const before = new Map(counts);
        const { inserted, evicted } = admit(
          counts,
          flush.map((site) => ({ site })),
          limits,
        );
        for (const [site, lost] of evicted) counts.set(site, counts.get(site)! - lost);
        for (const count of counts.values()) assert.ok(count >= 0);
        for (const { site } of inserted) counts.set(site, (counts.get(site) ?? 0) + 1);
        const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
        assert.ok(total <= limits.total && [...counts.values()].every((count) => count <= limits.perSite));
        // 12 rows for 6 sites: two each are safe.
        for (const [site, count] of before) assert.ok(counts.get(site)! >= Math.min(count, 2), site);
      }
    }),
  );
});
