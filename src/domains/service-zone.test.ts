import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { newDomain } from "../../test/harness/domains.ts";
import { makeBareWorkspace } from "../../test/harness/mail.ts";
import { silentLog } from "../ops/log.ts";
import { openDb } from "../postgres/pool.ts";
import { createServedKeys } from "./service-zone.ts";
import { addDomain, deleteDomain } from "./store/domains.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

test("a key is served as soon as its domain is registered, and for one minute after it is gone", async () => {
  const { sql } = database;
  let nowMs = 0;
  const served = createServedKeys({ sql, nowMs: () => nowMs });
  const domain = newDomain(await makeBareWorkspace(sql), "served.test");
  const { label, publicKey } = domain.keys[0]!;
  assert.equal(await served(label), undefined);
  await addDomain(sql, domain);
  assert.equal(await served(label), publicKey);
  await deleteDomain(sql, domain.workspaceId, domain.id);
  await sql`update domains set deleted_at = now() - interval '8 days' where id = ${domain.id}`;
  assert.equal(await served(label), publicKey);
  nowMs = 60_001;
  assert.equal(await served(label), undefined);
});

test("a key that was queried before is still served while the database is unavailable", async () => {
  const sql = openDb({ url: database.url, pool: 1, log: silentLog() });
  let nowMs = 0;
  const served = createServedKeys({ sql, nowMs: () => nowMs });
  const domain = newDomain(await makeBareWorkspace(sql), "outage.test");
  const [known, unknown] = domain.keys;
  await addDomain(sql, domain);
  assert.equal(await served(known!.label), known!.publicKey);
  await sql.end();
  nowMs = 3_600_000;
  assert.equal(await served(known!.label), known!.publicKey);
  await assert.rejects(() => served(unknown!.label), "without the database, an uncached key is an error, not missing");
});
