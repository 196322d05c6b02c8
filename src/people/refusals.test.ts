import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { silentLog } from "../ops/log.ts";
import { openDb } from "../postgres/pool.ts";
import { createRefusalRecorder, createRefusals } from "./refusals.ts";
import { addPerson } from "./store.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

const silent = silentLog();

test("all refusals are counted, and a client's first ones are recorded", async () => {
  const { sql } = database;
  const counted: string[] = [];
  const refusals = createRefusals({
    record: createRefusalRecorder({ sql, log: silent }),
    count: (reason) => counted.push(reason),
  });
  const person = (await addPerson(sql, { email: "a@there.test", name: "A", passwordHash: "h", nowMs: Date.now() }))!;
  const add = (address: string, more: Partial<Parameters<typeof refusals.add>[0]> = {}) =>
    refusals.add({ action: "sign_in.refused", reason: "wrong_code", personId: person.id, address, ...more });
  for (let i = 0; i < 30; i++) await add("192.0.2.1");
  // Hosts of one IPv6 site share its entries.
  for (let i = 0; i < 30; i++) await add(`2001:db8:0:${(0x300 + i).toString(16)}::1`);
  await add("192.0.2.2", { personId: undefined, reason: "wrong_password" });
  await add("192.0.2.3", { action: "confirmation.refused" });
  assert.equal(counted.length, 62);
  const rows = await sql<{ entries: number; actor: string; who: string | null; target: string | null }[]>`
    select count(*)::int as entries, actor, actor_id as who, target_id as target from audit_entries
    group by 2, 3, 4 order by 1 desc, 2`;
  assert.deepEqual(rows, [
    { entries: 40, actor: "stranger", who: null, target: person.id },
    { entries: 1, actor: "person", who: person.id, target: person.id },
    { entries: 1, actor: "stranger", who: null, target: null },
  ]);
});

test("a refusal stands even if it cannot be recorded", async (t) => {
  const away = openDb({ url: "postgres://posthorn@127.0.0.1:1/posthorn", pool: 1, log: silent });
  t.after(() => away.end());
  const refusals = createRefusals({ record: createRefusalRecorder({ sql: away, log: silent }), count() {} });
  await refusals.add({ action: "sign_in.refused", reason: "wrong_code", personId: undefined, address: "192.0.2.1" });
});
