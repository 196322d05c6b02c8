import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { checkResult, newDomain } from "../../../test/harness/domains.ts";
import { makeBareWorkspace } from "../../../test/harness/mail.ts";
import { passServiceTime } from "../../../test/harness/time.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { claimVerify, recordCheck } from "./checks.ts";
import {
  addDomain,
  deleteDomain,
  findDomain,
  getDomain,
  listDomains,
  noteExampleOffered,
  receivingDomain,
  wasExampleOffered,
} from "./domains.ts";
import { findSendingDomains, readSigning } from "./sending.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

/** Stores the result of a check of this registration that found the given records. */
async function storeCheck(row: { workspaceId: string; id: string }, ...result: Parameters<typeof checkResult>) {
  const lease = makeUuid(Date.now());
  // Without a program, service time stops a while after the test's start, and the order of two checks would be lost.
  await passServiceTime(database.sql, "1 millisecond");
  assert.ok(await claimVerify(database.sql, { ...row, lease, intervalMs: 0 }));
  const eventId = makeUuid(Date.now());
  return await recordCheck(database.sql, { ...row, lease, eventId, result: checkResult(...result) });
}

test("a domain and its keys are stored together or not at all", async () => {
  const { sql } = database;
  const workspaceId = await makeBareWorkspace(sql);
  const domain = newDomain(workspaceId, "one.test");
  const row = await addDomain(sql, domain);
  assert.equal(row?.status, "pending");
  assert.deepEqual(row.records, []);
  assert.equal(row.lastCheckedAt, null);
  const signing = await readSigning(sql, workspaceId, row.id);
  assert.deepEqual(
    signing?.keys.map(({ id, selector }) => ({ id, selector })),
    domain.keys.map(({ id, slot }) => ({ id, selector: `ph${slot}` })),
  );

  const again = newDomain(workspaceId, "one.test");
  assert.equal(await addDomain(sql, again), undefined);
  assert.equal(await readSigning(sql, workspaceId, again.id), undefined);
  assert.equal((await sql`select 1 from dkim_keys where domain_id = ${again.id}`).length, 0);
  // Another workspace may register the same name.
  assert.ok(await addDomain(sql, newDomain(await makeBareWorkspace(sql), "one.test")));
});

test("when many calls add the same name at once, one succeeds", async () => {
  const workspaceId = await makeBareWorkspace(database.sql);
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => addDomain(database.sql, newDomain(workspaceId, "race.test"))),
  );
  assert.equal(answers.filter((row) => row !== undefined).length, 1);
});

test("pages list the newest domains first, and the total counts all domains", async () => {
  const { sql } = database;
  const workspaceId = await makeBareWorkspace(sql);
  const names = Array.from({ length: 5 }, (_, i) => `n${i}.test`);
  for (const [i, name] of names.entries())
    await addDomain(sql, newDomain(workspaceId, name, { id: makeUuid(1_000_000 + i) }));
  const deleted = await addDomain(sql, newDomain(workspaceId, "deleted.test"));
  await deleteDomain(sql, workspaceId, deleted!.id);
  const page = async (limit: number, offset: number) => {
    const { rows, total } = await listDomains(sql, { workspaceId, limit, offset });
    return { names: rows.map((row) => row.domain), total };
  };
  assert.deepEqual(await page(2, 0), { names: ["n4.test", "n3.test"], total: 5 });
  assert.deepEqual(await page(2, 4), { names: ["n0.test"], total: 5 });
  assert.deepEqual(await page(2, 99), { names: [], total: 5 });
});

test("a deleted domain is hidden from its owner and frees its name, but still signs accepted mail", async () => {
  const { sql } = database;
  const workspaceId = await makeBareWorkspace(sql);
  const domain = newDomain(workspaceId, "leaving.test");
  const row = await addDomain(sql, domain);
  assert.ok(row);
  await storeCheck(row, "ready", ["dkim2", "dmarc"]);
  assert.equal(await deleteDomain(sql, await makeBareWorkspace(sql), row.id), undefined, "not from another workspace");
  assert.equal((await deleteDomain(sql, workspaceId, row.id))?.domain, "leaving.test");
  assert.equal(await deleteDomain(sql, workspaceId, row.id), undefined);

  assert.equal(await getDomain(sql, workspaceId, row.id), undefined);
  assert.equal(await findDomain(sql, workspaceId, "leaving.test"), undefined);
  assert.equal((await findSendingDomains(sql, workspaceId, ["leaving.test"])).size, 0);
  const signing = await readSigning(sql, workspaceId, row.id);
  assert.deepEqual(
    signing?.keys.map((key) => key.selector),
    ["ph2"],
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
  await storeCheck(a, "ready", ["dkim1", "mx"]);
  assert.equal(await owner(), a.id);
  await storeCheck(b, "verifying", ["mx"]);
  assert.equal(await owner(), a.id, "the MX record alone proves nothing");
  await storeCheck(b, "verifying", ["dkim1", "mx"]);
  assert.equal(await owner(), b.id);
  await storeCheck(a, "ready", ["dkim2", "mx"]);
  assert.equal(await owner(), b.id, "a record that stays found does not prove control again");
  await storeCheck(b, "pending", ["mx"]);
  assert.equal(await owner(), a.id);
  await storeCheck(b, "verifying", ["dkim1", "mx"]);
  assert.equal(await owner(), b.id);
  await deleteDomain(sql, b.workspaceId, b.id);
  assert.equal(await owner(), a.id);
});

test("the example domain is offered once per instance, and a rolled-back start does not count", async (t) => {
  const empty = await createTestDatabase({ example: true });
  t.after(() => empty.drop());
  const { sql } = empty;
  assert.equal(await wasExampleOffered(sql), false);
  const undone = sql.begin(async (tx) => {
    assert.equal(await noteExampleOffered(tx, "example.test"), true);
    throw new Error("the process died here");
  });
  await assert.rejects(undone, /died here/);
  assert.equal(await wasExampleOffered(sql), false);
  assert.deepEqual(
    (await Promise.all([1, 2, 3].map(() => noteExampleOffered(sql, "example.test")))).filter((first) => first),
    [true],
  );
  assert.equal(await wasExampleOffered(sql), true);
});
