import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { checkResult, newDomain } from "../../test/harness/domains.ts";
import { makeBareWorkspace } from "../../test/harness/mail.ts";
import { claimVerify, recordCheck } from "./domain-checks.ts";
import { addDomain, deleteDomain, findDomain, getDomain, listDomains, receivingDomain } from "./domains.ts";
import { makeUuid } from "./ids.ts";
import { findSendingDomains, readSigning } from "./sending-domains.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

/** A check of this registration that found the given records. */
async function checked(row: { workspaceId: string; id: string }, ...result: Parameters<typeof checkResult>) {
  const lease = makeUuid(Date.now());
  assert.ok(await claimVerify(database.sql, { ...row, lease, intervalMs: 0 }));
  const eventId = makeUuid(Date.now());
  return await recordCheck(database.sql, { ...row, lease, eventId, result: checkResult(...result) });
}

test("a domain comes with its keys, or not at all", async () => {
  const { sql } = database;
  const workspaceId = await makeBareWorkspace(sql);
  const domain = newDomain(workspaceId, "one.test");
  const row = await addDomain(sql, domain);
  assert.equal(row?.status, "pending");
  assert.deepEqual(row.records, []);
  assert.equal(row.lastCheckedAt, null);
  const signing = await readSigning(sql, workspaceId, row.id);
  assert.deepEqual(
    signing?.keys.map(({ id, slot }) => ({ id, slot })),
    domain.keys.map(({ id, slot }) => ({ id, slot })),
  );

  const again = newDomain(workspaceId, "one.test");
  assert.equal(await addDomain(sql, again), undefined);
  assert.equal(await readSigning(sql, workspaceId, again.id), undefined);
  assert.equal((await sql`select 1 from dkim_keys where domain_id = ${again.id}`).length, 0);
  // The same name belongs to another workspace just as well.
  assert.ok(await addDomain(sql, newDomain(await makeBareWorkspace(sql), "one.test")));
});

test("of many that add one name at once, one succeeds", async () => {
  const workspaceId = await makeBareWorkspace(database.sql);
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => addDomain(database.sql, newDomain(workspaceId, "race.test"))),
  );
  assert.equal(answers.filter((row) => row !== undefined).length, 1);
});

test("pages are newest first and the total counts all", async () => {
  const { sql } = database;
  const workspaceId = await makeBareWorkspace(sql);
  const names = Array.from({ length: 5 }, (_, i) => `n${i}.test`);
  for (const [i, name] of names.entries())
    await addDomain(sql, newDomain(workspaceId, name, { id: makeUuid(1_000_000 + i) }));
  const gone = await addDomain(sql, newDomain(workspaceId, "gone.test"));
  await deleteDomain(sql, workspaceId, gone!.id);
  const page = async (limit: number, offset: number) => {
    const { rows, total } = await listDomains(sql, { workspaceId, limit, offset });
    return { names: rows.map((row) => row.domain), total };
  };
  assert.deepEqual(await page(2, 0), { names: ["n4.test", "n3.test"], total: 5 });
  assert.deepEqual(await page(2, 4), { names: ["n0.test"], total: 5 });
  assert.deepEqual(await page(2, 99), { names: [], total: 5 });
});

test("a deleted domain is gone for its owner, frees its name, and still signs", async () => {
  const { sql } = database;
  const workspaceId = await makeBareWorkspace(sql);
  const domain = newDomain(workspaceId, "leaving.test");
  const row = await addDomain(sql, domain);
  assert.ok(row);
  await checked(row, "ready", ["dkim2", "dmarc"]);
  assert.equal(await deleteDomain(sql, await makeBareWorkspace(sql), row.id), undefined, "another workspace's");
  assert.equal((await deleteDomain(sql, workspaceId, row.id))?.domain, "leaving.test");
  assert.equal(await deleteDomain(sql, workspaceId, row.id), undefined);

  assert.equal(await getDomain(sql, workspaceId, row.id), undefined);
  assert.equal(await findDomain(sql, workspaceId, "leaving.test"), undefined);
  assert.equal((await findSendingDomains(sql, workspaceId, ["leaving.test"])).size, 0);
  const signing = await readSigning(sql, workspaceId, row.id);
  assert.deepEqual(
    signing?.keys.map((key) => key.slot),
    [2],
  );
  const next = await addDomain(sql, newDomain(workspaceId, "leaving.test"));
  assert.ok(next);
  assert.notEqual(next.token, row.token);
});

test("mail belongs to the registration that proved control last, and only while it may receive", async () => {
  const { sql } = database;
  const [a, b] = await Promise.all(
    ["A", "B"].map(async (name) => (await addDomain(sql, newDomain(await makeBareWorkspace(sql, name), "two.test")))!),
  );
  assert.ok(a && b);
  const owner = async () => (await receivingDomain(sql, "two.test"))?.id;
  assert.equal(await owner(), undefined);
  await checked(a, "ready", ["dkim1", "mx"]);
  assert.equal(await owner(), a.id);
  await checked(b, "verifying", ["mx"]);
  assert.equal(await owner(), a.id, "the MX record alone proves nothing");
  await checked(b, "verifying", ["dkim1", "mx"]);
  assert.equal(await owner(), b.id);
  await checked(a, "ready", ["dkim2", "mx"]);
  assert.equal(await owner(), b.id, "to be found still is not to be proved again");
  await checked(b, "pending", ["mx"]);
  assert.equal(await owner(), a.id);
  await checked(b, "verifying", ["dkim1", "mx"]);
  assert.equal(await owner(), b.id);
  await deleteDomain(sql, b.workspaceId, b.id);
  assert.equal(await owner(), a.id);
});
