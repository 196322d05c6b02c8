/** Concurrent checks of one domain, on any number of nodes, are one check. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { expectedRecords } from "../../src/domains/rules/records.ts";
import { addDomain, type DomainRow } from "../../src/domains/store/domains.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type ScriptedDns, startScriptedDns } from "../harness/dns.ts";
import { zone } from "../harness/domain-answers.ts";
import { newDomain } from "../harness/domains.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";
import { until } from "../harness/wait.ts";

let database: TestDatabase;
let dns: ScriptedDns;
let nodes: RunningProgram[] = [];
let workspaceId: string;

before(async () => {
  database = await createTestDatabase();
  dns = await startScriptedDns();
  const env = {
    POSTHORN_RESOLVERS: `${dns.host}:${dns.port}`,
    POSTHORN_API_KEY: "the-key-of-both-nodes-0123456789abcdef",
  };
  nodes = [
    await startProgram({ databaseUrl: database.url, env }),
    await startProgram({ databaseUrl: database.url, env }),
  ];
  const [row] = await database.sql<{ value: string }[]>`select value from settings where name = 'first_workspace'`;
  workspaceId = row!.value;
  // Every check starts by storing its lease. DNS queries do not tell how many checks there were: a query that a busy
  // machine does not answer in time is repeated.
  await database.sql.unsafe(`
    create table started_checks (domain text, lease uuid);
    create function note_check() returns trigger language plpgsql as $$
      begin insert into started_checks values (new.domain, new.check_lease); return null; end $$;
    create trigger note_check after update of check_lease on domains
      for each row when (new.check_lease is distinct from old.check_lease and new.check_lease is not null)
      execute function note_check();`);
});
after(async () => {
  for (const node of nodes) await node.remove();
  await dns?.stop();
  await database?.drop();
});

async function add(domain: string): Promise<DomainRow> {
  const row = (await addDomain(database.sql, newDomain(workspaceId, domain))) ?? assert.fail();
  for (const { name, type, value, priority } of expectedRecords({ ...row, zone }))
    dns.set(name, type, priority === undefined ? value : `${priority} ${value}`);
  return row;
}

/** How many checks were started for each domain whose name is like `pattern`. */
async function checksOf(pattern: string): Promise<Record<string, number>> {
  const rows = await database.sql<{ domain: string; n: number }[]>`
    select domain, count(*)::int as n from started_checks where domain like ${pattern} group by domain`;
  return Object.fromEntries(rows.map(({ domain, n }) => [domain, n]));
}

test("50 concurrent GetDomain calls for a stale domain, on two nodes, share one check", async () => {
  const row = await add("stale.test");
  await database.sql`update domains set registered_at = now() - interval '6 minutes' where id = ${row.id}`;
  const responses = await Promise.all(
    Array.from({ length: 50 }, (_, i) => nodes[i % 2]!.call("DomainService/GetDomain", { id: `dom_${row.id}` })),
  );
  for (const { status, body } of responses) {
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal((body.domain as { status: string }).status, "DOMAIN_STATUS_READY");
  }
  assert.deepEqual(await checksOf("stale.test"), { "stale.test": 1 });
  assert.ok(dns.queries.some(({ name, type }) => `${type} ${name}` === "TXT _dmarc.stale.test"));
});

test("two nodes check due domains in the background, each domain once", async () => {
  const rows = await Promise.all(Array.from({ length: 30 }, (_, i) => add(`due${i}.test`)));
  await database.sql`update domains set next_check_at = service_time() where domain like 'due%'`;
  await until("all domains to be checked", async () => {
    const [left] = await database.sql<{ n: number }[]>`
      select count(*)::int as n from domains where domain like 'due%' and status <> 'ready'`;
    return left!.n === 0;
  });
  assert.deepEqual(await checksOf("due%"), Object.fromEntries(rows.map(({ domain }) => [domain, 1])));
  const [checks] = await database.sql<{ n: number }[]>`
    select count(*)::int as n from events where type = 'domain.updated' and payload->>'domain' like 'due%'`;
  assert.equal(checks!.n, 30);
});
