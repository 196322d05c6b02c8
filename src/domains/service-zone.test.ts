import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { newDomain } from "../../test/harness/domains.ts";
import { makeBareWorkspace } from "../../test/harness/mail.ts";
import { silentLog } from "../ops/log.ts";
import { openDb } from "../postgres/pool.ts";
import { createServedNames, serviceZone } from "./service-zone.ts";
import { addDomain, deleteDomain } from "./store/domains.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

test("a key is served as soon as its domain is registered, and for one minute after it is gone", async () => {
  const { sql } = database;
  let nowMs = 0;
  const { dkimKey: served } = createServedNames({ sql, nowMs: () => nowMs });
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
  const { dkimKey: served } = createServedNames({ sql, nowMs: () => nowMs });
  const domain = newDomain(await makeBareWorkspace(sql), "outage.test");
  const [known, unknown] = domain.keys;
  await addDomain(sql, domain);
  assert.equal(await served(known!.label), known!.publicKey);
  await sql.end();
  nowMs = 3_600_000;
  assert.equal(await served(known!.label), known!.publicKey);
  await assert.rejects(
    async () => await served(unknown!.label),
    "without the database, an uncached key is an error, not missing",
  );
});

const input = { zone: "Mail.Posthorn.test", hostname: "mx.there.test", publicIps: ["203.0.113.5"], serial: 1 };

test("reports about a domain are authorized while a DKIM record of a registration is found", async () => {
  const { sql } = database;
  let nowMs = 0;
  const zone = serviceZone(input, createServedNames({ sql, nowMs: () => nowMs }));
  const name = "reported.test._report._dmarc.reports.mail.posthorn.test";
  const texts = async () => ((await zone.find(name)) ?? []).flatMap((one) => (one.type === "TXT" ? one.strings : []));
  const domain = newDomain(await makeBareWorkspace(sql), "reported.test");
  await addDomain(sql, domain);
  assert.deepEqual(await texts(), [], "not before control is proved");
  await sql`update domains set control_proved_at = service_time(), signing_slots = '{1}' where id = ${domain.id}`;
  assert.deepEqual(await texts(), ["v=DMARC1;"]);
  await deleteDomain(sql, domain.workspaceId, domain.id);
  nowMs = 60_001;
  assert.deepEqual(await texts(), [], "not after the domain is deleted");
});

test("the names above an authorization exist, and names that cannot be registered cost no query", async () => {
  const queried: string[] = [];
  const zone = serviceZone(input, {
    dkimKey: () => undefined,
    isReported(domain) {
      queried.push(domain);
      return undefined;
    },
  });
  const parent = "_report._dmarc.reports.mail.posthorn.test";
  for (const name of [
    parent,
    "_dmarc.reports.mail.posthorn.test",
    `com.${parent}`,
    `a_b.com.${parent}`,
    `-.test.${parent}`,
  ])
    assert.deepEqual(await zone.find(name), [], name);
  assert.deepEqual(queried, []);
  assert.deepEqual(await zone.find(`example.com.${parent}`), []);
  assert.deepEqual(queried, ["example.com"]);
  const types = (await zone.find("reports.mail.posthorn.test"))!.map(({ type }) => type);
  assert.deepEqual(types.sort(), ["A", "MX"]);
});
