/** However many ask and however many nodes there are, DNS is asked once. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { askedRecords } from "../../src/rules/dns-records.ts";
import { addDomain, type DomainRow } from "../../src/store/domains.ts";
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
});
after(async () => {
  for (const node of nodes) await node.remove();
  await dns?.stop();
  await database?.drop();
});

async function add(domain: string): Promise<DomainRow> {
  const row = (await addDomain(database.sql, newDomain(workspaceId, domain))) ?? assert.fail();
  for (const { name, type, value, priority } of askedRecords({ ...row, zone }))
    dns.set(name, type, priority === undefined ? value : `${priority} ${value}`);
  return row;
}

/** Each question that was put for the domain, with how often. */
function questions(domain: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { name, type } of dns.queries)
    if (name.endsWith(domain)) counts.set(`${type} ${name}`, (counts.get(`${type} ${name}`) ?? 0) + 1);
  return counts;
}

test("50 callers of a stale domain, on two nodes, share one look-up and its answer", async () => {
  const row = await add("stale.test");
  await database.sql`update domains set created_at = now() - interval '6 minutes' where id = ${row.id}`;
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, i) => nodes[i % 2]!.call("DomainService/GetDomain", { id: `dom_${row.id}` })),
  );
  for (const { status, body } of answers) {
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal((body.domain as { status: string }).status, "DOMAIN_STATUS_READY");
  }
  const asked = questions("stale.test");
  assert.equal(asked.get("TXT _dmarc.stale.test"), 1);
  assert.deepEqual([...asked.values()], Array(asked.size).fill(1), [...asked].join("\n"));
});

test("two nodes check what is due in the background, each domain once", async () => {
  const rows = await Promise.all(Array.from({ length: 30 }, (_, i) => add(`due${i}.test`)));
  await database.sql`update domains set next_check_at = now() where domain like 'due%'`;
  await until("all to be checked", async () => {
    const [left] = await database.sql<{ n: number }[]>`
      select count(*)::int as n from domains where domain like 'due%' and status <> 'ready'`;
    return left!.n === 0;
  });
  for (const { domain } of rows) {
    const asked = questions(domain);
    assert.deepEqual([...asked.values()], Array(asked.size).fill(1), [...asked].join("\n"));
  }
  const [checks] = await database.sql<{ n: number }[]>`
    select count(*)::int as n from events where type = 'domain.updated' and payload->>'domain' like 'due%'`;
  assert.equal(checks!.n, 30);
});
