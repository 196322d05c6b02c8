/** With no resolver reachable every method answers, nothing that was known is lost, and the answer says so. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { addDomain, type DomainRow } from "../../src/store/domains.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type ScriptedDns, startScriptedDns } from "../harness/dns.ts";
import { domainOf, statusesOf, type WireDomain } from "../harness/domain-answers.ts";
import { checkResult, newDomain } from "../harness/domains.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";
import { patienceMs } from "../harness/wait.ts";

let database: TestDatabase;
let silent: ScriptedDns;
let program: RunningProgram;
let row: DomainRow;
let verifiedAfter: number;

before(async () => {
  database = await createTestDatabase();
  silent = await startScriptedDns();
  program = await startProgram({
    databaseUrl: database.url,
    env: { POSTHORN_RESOLVERS: `${silent.host}:${silent.port}` },
  });
  const [first] = await database.sql<{ value: string }[]>`select value from settings where name = 'first_workspace'`;
  row = (await addDomain(database.sql, newDomain(first!.value, "shop.test"))) ?? assert.fail();
  // As a check left it behind six minutes ago; from then on nobody answers.
  const { records } = checkResult("ready", ["dkim1", "dkim2", "dmarc", "mailFromMx", "mailFromSpf"]);
  await database.sql`update domains set status = 'ready', records = ${JSON.stringify(records)}::text::jsonb, can_send = true, signing_slots = '{1,2}',
    ready_at = now(), dkim_seen_at = now(), last_checked_at = now() - interval '6 minutes' where id = ${row.id}`;
  for (const name of silenced) silent.behave(name, "timeout");
});
after(async () => {
  await program?.remove();
  await silent?.stop();
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
  assert.match(domain.summary.message, /DNS could not be asked in the last check; what was known before is kept/);
}

test("the methods that look up answer with what was known", async () => {
  const before = new Date(Date.now() - 60_000).toISOString();
  const got = domainOf(await call("GetDomain", { id: `dom_${row.id}` }));
  assertKept(got);
  assert.ok((got.lastCheckedAt ?? "") > before, "the check counts, so that nobody waits again at once");
  verifiedAfter = Date.now();
  const verified = await call("VerifyDomain", { id: `dom_${row.id}` });
  assertKept(domainOf(verified));
  assert.equal(verified.body.wasRefreshed, true);
  assert.equal("nextRetryAt" in verified.body, false);
});

test("asked again too soon, VerifyDomain shows the stored state and when it may look again", async () => {
  const { status, body } = await call("VerifyDomain", { id: `dom_${row.id}` });
  assert.equal(status, 200);
  assert.equal(body.wasRefreshed, false);
  const until = new Date(String(body.nextRetryAt)).getTime();
  assert.ok(until > verifiedAfter && until <= Date.now() + 30_000, String(body.nextRetryAt));
  assert.match(String(body.message), /this is the last known state/);
});

test("the others never ask DNS", async () => {
  silent.queries.length = 0;
  const added = domainOf(await call("AddDomain", { domain: "new.test" }));
  assert.equal((await call("ListDomains", {})).body.total, 2);
  assert.equal((await call("GetDomain", { id: added.id })).status, 200);
  assert.equal((await call("DeleteDomain", { id: added.id })).status, 200);
  assert.deepEqual(silent.queries, []);
});
