import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { type CountedWording, countFrequentWordings, countWordings, forgetWordings, listWordings } from "./wordings.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());
beforeEach(async () => void (await database.sql`delete from unknown_wordings`));

const makeId = () => makeUuid(Date.now());
const wording = (site: string, shape: string, replies = 1): CountedWording => ({
  site,
  phase: "rcpt",
  code: 550,
  enhanced: "5.7.1",
  shape,
  category: "policy",
  replies,
});
const count = (rows: CountedWording[], limits?: { total: number; perSite: number }) =>
  countWordings(database.sql, rows, makeId, limits);
const listed = async (page: { before?: string; limit?: number; site?: string } = {}) =>
  (await listWordings(database.sql, { limit: 100, ...page })).map(({ site, shape, replies }) => [site, shape, replies]);

test("the same shape of a site is counted in one row, the most frequent first", async () => {
  await count([wording("a.test", "odd", 2), wording("b.test", "odd", 3)]);
  await count([wording("a.test", "odd", 5), wording("a.test", "other")]);
  assert.deepEqual(await listed(), [
    ["a.test", "odd", 7],
    ["b.test", "odd", 3],
    ["a.test", "other", 1],
  ]);
  assert.deepEqual(await listed({ site: "b.test" }), [["b.test", "odd", 3]]);
});

test("pages continue after the last row, also among equal counts", async () => {
  await count(Array.from({ length: 5 }, (_, at) => wording(`s${at}.test`, "odd")));
  const seen: string[] = [];
  for (let token: string | undefined; ; ) {
    const rows = await listWordings(database.sql, { limit: 2, before: token });
    if (rows.length === 0) break;
    seen.push(...rows.map(({ site }) => site));
    token = rows.at(-1)!.id;
  }
  assert.equal(new Set(seen).size, 5);
  assert.equal(seen.length, 5);
});

test("a site keeps its newest shapes and cannot take the rows of others", async () => {
  const limits = { total: 6, perSite: 3 };
  await count([wording("good.test", "useful", 9)], limits);
  for (let at = 0; at < 8; at++) await count([wording("bad.test", `random ${at}`, 100)], limits);
  const shapes = async (site: string) => (await listed({ site })).map(([, shape]) => shape);
  assert.deepEqual((await shapes("bad.test")).sort(), ["random 5", "random 6", "random 7"]);
  for (const site of ["c.test", "d.test", "e.test", "f.test"]) await count([wording(site, "odd")], limits);
  assert.deepEqual(await shapes("good.test"), ["useful"]);
  assert.equal((await listed()).length, 6);
});

test("in a table that is full of sites with one row, the one that was not seen for longest makes space", async () => {
  const limits = { total: 3, perSite: 2 };
  const sites = ["a.test", "b.test", "c.test"];
  await count(
    sites.map((site) => wording(site, "odd")),
    limits,
  );
  await database.sql`update unknown_wordings set last_at = service_time() - interval '1 hour' where site = 'b.test'`;
  await count([wording("new.test", "odd", 1000)], limits);
  assert.deepEqual((await listed()).map(([site]) => site).sort(), ["a.test", "c.test", "new.test"]);
});

test("nodes that count at the same time lose nothing and keep the limits", async () => {
  const limits = { total: 20, perSite: 5 };
  await Promise.all(
    Array.from({ length: 8 }, (_, node) =>
      count(
        [wording("a.test", "odd"), ...Array.from({ length: 4 }, (_, at) => wording("a.test", `${node} ${at}`))],
        limits,
      ),
    ),
  );
  const rows = await listed({ site: "a.test" });
  assert.equal(rows.length, 5);
  await count([wording("b.test", "shared")]);
  await Promise.all(Array.from({ length: 8 }, () => count([wording("b.test", "shared")])));
  assert.deepEqual(await listed({ site: "b.test" }), [["b.test", "shared", 9]]);
});

test("wordings that were not seen for a month are forgotten, and doctor counts those of a week", async () => {
  const { sql } = database;
  await count([wording("a.test", "old", 500), wording("b.test", "stale", 500), wording("c.test", "new", 100)]);
  await count([wording("d.test", "rare", 2)]);
  await sql`update unknown_wordings set last_at = service_time() - interval '31 days' where shape = 'old'`;
  await sql`update unknown_wordings set last_at = service_time() - interval '8 days' where shape = 'stale'`;
  assert.deepEqual(await countFrequentWordings(sql, 100), { shapes: 1, replies: 100 });
  await forgetWordings(sql);
  assert.deepEqual((await listed()).map(([, shape]) => shape).sort(), ["new", "rare", "stale"]);
});
