/** Without a reachable resolver, every method still returns the last known status of a domain and reports that DNS did not answer. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { addDomain, type DomainRow } from "../../src/domains/store/domains.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type ScriptedDns, startScriptedDns } from "../harness/dns.ts";
import { domainOf, statusesOf, type WireDomain } from "../harness/domain-answers.ts";
import { checkResult, newDomain } from "../harness/domains.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";
import { patienceMs } from "../harness/wait.ts";

let database: TestDatabase;
let resolver: ScriptedDns;
let program: RunningProgram;
let row: DomainRow;
let verifiedAfter: number;

before(async () => {
  database = await createTestDatabase();
  resolver = await startScriptedDns();
  program = await startProgram({
    databaseUrl: database.url,
    env: { POSTHORN_RESOLVERS: `${resolver.host}:${resolver.port}` },
  });
  const [first] = await database.sql<{ value: string }[]>`select value from settings where name = 'first_workspace'`;
  row = (await addDomain(database.sql, newDomain(first!.value, "shop.test"))) ?? assert.fail();
  // The last check succeeded six minutes ago. Since then the resolver times out.
  const { records } = checkResult("ready", ["dkim1", "dkim2", "dmarc", "mailFromMx", "mailFromSpf"]);
  await database.sql`update domains set status = 'ready', records = ${JSON.stringify(records)}::text::jsonb, can_send = true, signing_slots = '{1,2}',
    ready_at = now(), dkim_seen_at = now(), last_checked_at = now() - interval '6 minutes' where id = ${row.id}`;
  for (const name of silenced) resolver.behave(name, "timeout");
});
after(async () => {
  await program?.remove();
  await resolver?.stop();
  await database?.drop();
});

const silenced = [
  "shop.test",
  "_dmarc.shop.test",
  "bounce.shop.test",
  "ph1._domainkey.shop.test",
  "ph2._domainkey.shop.test",
];

const call = (method: string, request: unknown) =>
  program.call(`DomainService/${method}`, request, { signal: AbortSignal.timeout(patienceMs) });

function assertKept(domain: WireDomain): void {
  assert.equal(domain.status, "DOMAIN_STATUS_READY");
  assert.equal(domain.summary.canSend, true);
  assert.equal(statusesOf(domain), "FOUND FOUND MISSING FOUND MISSING FOUND FOUND");
  assert.match(domain.summary.message, /DNS did not answer in the last check; the last known status is kept/);
}

test("GetDomain and VerifyDomain return the last known status", async () => {
  const before = new Date(Date.now() - 60_000).toISOString();
  const got = domainOf(await call("GetDomain", { id: `dom_${row.id}` }));
  assertKept(got);
  assert.ok(
    (got.lastCheckedAt ?? "") > before,
    "the failed check counts, so the next call does not wait for DNS again",
  );
  verifiedAfter = Date.now();
  const verified = await call("VerifyDomain", { id: `dom_${row.id}` });
  assertKept(domainOf(verified));
  assert.equal(verified.body.wasRefreshed, true);
  assert.equal("nextRetryAt" in verified.body, false);
});

test("VerifyDomain called again too soon returns the stored status and the time of the next possible check", async () => {
  const { status, body } = await call("VerifyDomain", { id: `dom_${row.id}` });
  assert.equal(status, 200);
  assert.equal(body.wasRefreshed, false);
  const until = new Date(String(body.nextRetryAt)).getTime();
  assert.ok(until > verifiedAfter && until <= Date.now() + 30_000, String(body.nextRetryAt));
  assert.match(String(body.message), /this is the last known state/);
});

test("the other methods never check records; AddDomain only looks for the zone, and does not wait for it", async () => {
  resolver.queries.length = 0;
  const added = domainOf(await call("AddDomain", { domain: "new.test" }));
  assert.equal((await call("ListDomains", {})).body.total, 2);
  assert.equal((await call("GetDomain", { id: added.id })).status, 200);
  assert.equal((await call("DeleteDomain", { id: added.id })).status, 200);
  assert.deepEqual(
    resolver.queries.filter(({ name, type }) => name !== "new.test" || (type !== "SOA" && type !== "NS")),
    [],
  );
});
