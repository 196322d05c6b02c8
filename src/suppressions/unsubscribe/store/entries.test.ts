import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../../test/harness/database.ts";
import { makeWorkspace } from "../../../../test/harness/mail.ts";
import {
  addUnsubscribe,
  getUnsubscribe,
  listUnsubscribes,
  removeUnsubscribe,
  topicsLeft,
  type UnsubscribeRow,
} from "./entries.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

test("entries with the same time are paged without a gap or a repeat, newest first", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  await sql`insert into unsubscribes (workspace_id, address, topic, method, created_at)
    select ${workspaceId}, 'a' || n % 5 || '@there.test', 't' || n, 'api', service_time() - (n % 3) * interval '1 hour' from generate_series(1, 30) n`;
  const seen: UnsubscribeRow[] = [];
  for (;;) {
    const last = seen.at(-1);
    const before = last && { micros: last.createdMicros, address: last.address, topic: last.topic };
    const page = await listUnsubscribes(sql, { workspaceId, before, limit: 7 });
    seen.push(...page);
    if (page.length < 7) break;
  }
  assert.equal(new Set(seen.map(({ address, topic }) => `${address} ${topic}`)).size, 30);
  assert.equal(seen.length, 30);
  const times = seen.map(({ createdMicros }) => BigInt(createdMicros));
  assert.deepEqual(
    times,
    times.toSorted((a, b) => (a < b ? 1 : a > b ? -1 : 0)),
  );
});

test("filters match a topic exactly and a part of an address literally", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const entry = (address: string, topic: string) => ({ workspaceId, address, topic });
  for (const one of [entry("a_b@there.test", "news"), entry("axb@there.test", "news"), entry("a_b@there.test", "*")])
    assert.equal(await addUnsubscribe(sql, one), true);
  assert.equal(await addUnsubscribe(sql, entry("a_b@there.test", "news")), false);
  const found = async (filter: { topic?: string; search?: string }) =>
    (await listUnsubscribes(sql, { workspaceId, limit: 10, ...filter })).map(
      ({ address, topic }) => `${address} ${topic}`,
    );
  assert.deepEqual(await found({ topic: "*" }), ["a_b@there.test *"]);
  assert.deepEqual((await found({ search: "A_B" })).sort(), ["a_b@there.test *", "a_b@there.test news"]);
  assert.equal(await removeUnsubscribe(sql, entry("a_b@there.test", "news")), true);
  assert.equal(await removeUnsubscribe(sql, entry("a_b@there.test", "news")), false);
  assert.deepEqual(await found({ search: "a_b" }), ["a_b@there.test *"]);
});

test("an address with many topics shows the wanted ones and a limited number of others", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  await sql`insert into unsubscribes (workspace_id, address, topic, method, created_at)
    select ${workspaceId}, 'many@there.test', topic, 'api', service_time() from unnest('{a,b,c,d,z,*}'::text[]) topic`;
  const of = { workspaceId, address: "Many@there.test", first: ["z", "*", "y"], limit: 2 };
  assert.deepEqual((await topicsLeft(sql, of)).sort(), ["*", "a", "b", "z"]);
  assert.equal((await getUnsubscribe(sql, { ...of, topic: "z" }))!.topic, "z");
  assert.equal(await getUnsubscribe(sql, { ...of, topic: "y" }), undefined);
});
