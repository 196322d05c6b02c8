import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { checkResult, newDomain } from "../../../test/harness/domains.ts";
import { makeBareWorkspace } from "../../../test/harness/mail.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { findingOf } from "../rules/imported-keys.ts";
import type { RecordStatus } from "../rules/records.ts";
import { claimStale, recordCheck } from "./checks.ts";
import { countPrimes, forgetDeletedDomains, listOwnKeys } from "./dkim-keys.ts";
import { addDomain, deleteDomain, getDomain } from "./domains.ts";
import {
  addImportedKey,
  findPrivateKey,
  listImportedKeys,
  maxImportedKeys,
  recordKeyChecks,
  removeImportedKey,
} from "./imported-keys.ts";
import { noteSigned, readSigning } from "./sending.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

async function add(name: string) {
  const domain = newDomain(await makeBareWorkspace(database.sql), name);
  assert.ok(await addDomain(database.sql, domain));
  return { workspaceId: domain.workspaceId, domainId: domain.id, keys: domain.keys };
}

let made = 0;
const newKey = (selector: string) => ({
  id: makeUuid(Date.now() + made++),
  selector,
  publicKey: `public ${selector}`,
  privateKeySealed: `sealed ${selector}`,
  bits: 4096,
  primes: 2,
});
const importKey = (at: { workspaceId: string; domainId: string }, selector: string) =>
  database.sql.begin((tx) => addImportedKey(tx as never, at, newKey(selector)));

const checked = (id: string, status: RecordStatus) => ({
  keys: [{ id, finding: { ...findingOf({ finding: {} }), status } }],
  complete: true,
  changed: true,
  message: "",
});

test("an import makes the domain due, discards a running check, and keeps the limits", async () => {
  const { sql } = database;
  const at = await add("limits.test");
  const lease = makeUuid(Date.now());
  assert.ok(await claimStale(sql, { workspaceId: at.workspaceId, id: at.domainId, lease, staleAfterMs: 0 }));
  const first = await importKey(at, "s1");
  assert.ok(first && typeof first === "object");
  assert.deepEqual([first.selector, first.bits, first.primes, first.finding], ["s1", 4096, 2, {}]);
  const check = { workspaceId: at.workspaceId, id: at.domainId, lease, eventId: makeUuid(Date.now()) };
  assert.equal(
    await recordCheck(sql, { ...check, result: checkResult("ready", ["dkim1"]) }),
    undefined,
    "the check did not know the key",
  );
  const [row] = await sql<{ due: boolean }[]>`
    select next_check_at <= service_time() as due from domains where id = ${at.domainId}`;
  assert.ok(row!.due);
  assert.equal(await importKey(at, "s1"), "taken");
  await Promise.all(Array.from({ length: maxImportedKeys + 2 }, (_, i) => importKey(at, `p${i}`)));
  assert.equal((await listImportedKeys(sql, at.workspaceId, at.domainId)).length, maxImportedKeys);
  assert.equal(await importKey(at, "more"), "full");
  assert.equal(await importKey({ ...at, domainId: makeUuid(Date.now()) }, "s1"), undefined);
});

test("a key signs while it is found, the newest import first, and its last signature is noted", async () => {
  const { sql } = database;
  const at = await add("signs.test");
  const { workspaceId, domainId } = at;
  const signing = async () => (await readSigning(sql, workspaceId, domainId))?.keys[0]?.selector;
  const [old, young] = [await importKey(at, "old"), await importKey(at, "young")];
  assert.ok(old && young && typeof old === "object" && typeof young === "object");
  assert.equal(await signing(), "ph1");
  await recordKeyChecks(sql, at, checked(old.id, "found"));
  assert.equal(await signing(), "old");
  await recordKeyChecks(sql, at, checked(young.id, "found"));
  assert.equal(await signing(), "young");
  assert.equal((await readSigning(sql, workspaceId, domainId))?.keys[0]?.bits, 4096);
  await recordKeyChecks(sql, at, checked(young.id, "missing"));
  assert.equal(await signing(), "old");
  await noteSigned(sql, workspaceId, [old.id]);
  const [, shown] = await listImportedKeys(sql, workspaceId, domainId);
  assert.ok(shown!.lastSignedAt && Math.abs(shown!.lastSignedAt.getTime() - Date.now()) < 60_000, "in wall time");
  await deleteDomain(sql, workspaceId, domainId);
  assert.equal(await signing(), "old", "accepted mail of a deleted domain is still signed");
});

test("a private key is found in its own workspace only, and not after removal, rotation or deletion", async () => {
  const { sql } = database;
  const [ours, theirs] = [await add("ours.test"), await add("theirs.test")];
  const key = await importKey(ours, "s1");
  assert.ok(key && typeof key === "object");
  const { workspaceId } = ours;
  assert.equal((await findPrivateKey(sql, { workspaceId, id: key.id }))?.privateKeySealed, "sealed s1");
  const own = ours.keys[0]!.id;
  assert.deepEqual([(await findPrivateKey(sql, { workspaceId, id: own }))?.imported, key.id], [false, key.id]);
  for (const id of [key.id, own])
    assert.equal(await findPrivateKey(sql, { workspaceId: theirs.workspaceId, id }), undefined);
  assert.equal(await removeImportedKey(sql, { workspaceId: theirs.workspaceId, id: key.id }), undefined);
  assert.equal((await removeImportedKey(sql, { workspaceId, id: key.id }))?.domain, "ours.test");
  assert.equal(await removeImportedKey(sql, { workspaceId, id: key.id }), undefined);
  assert.equal(await findPrivateKey(sql, { workspaceId, id: key.id }), undefined);
  await sql`update dkim_keys set retired_at = service_time() where id = ${own}`;
  assert.equal(await findPrivateKey(sql, { workspaceId, id: own }), undefined);
  await deleteDomain(sql, workspaceId, ours.domainId);
  assert.equal(await findPrivateKey(sql, { workspaceId, id: ours.keys[1]!.id }), undefined);
});

test("the list of our keys has those in use, and the count of primes those of domains that exist", async () => {
  const { sql } = database;
  const at = await add("counted.test");
  await sql`update dkim_keys set primes = 7 where domain_id = ${at.domainId}`;
  await sql`update dkim_keys set active_from = service_time() + interval '1 hour' where id = ${at.keys[1]!.id}`;
  const keys = await listOwnKeys(sql, at.workspaceId, at.domainId);
  assert.deepEqual(
    keys.map(({ selector, primes, signsFrom }) => [selector, primes, signsFrom === null]),
    [
      ["ph2", 7, false],
      ["ph1", 7, true],
    ],
  );
  const sevens = async () => (await countPrimes(sql)).find(({ primes }) => primes === 7)?.domains;
  assert.equal(await sevens(), 1);
  await deleteDomain(sql, at.workspaceId, at.domainId);
  assert.equal(await sevens(), undefined);
});

test("imported keys go with their domain", async () => {
  const { sql } = database;
  const at = await add("forgotten.test");
  await importKey(at, "s1");
  await deleteDomain(sql, at.workspaceId, at.domainId);
  assert.equal(await getDomain(sql, at.workspaceId, at.domainId), undefined);
  await sql`update domains set deleted_at = service_time() - interval '100 days' where id = ${at.domainId}`;
  await forgetDeletedDomains(sql);
  assert.equal((await sql`select 1 from imported_dkim_keys where domain_id = ${at.domainId}`).length, 0);
});
