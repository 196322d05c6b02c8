import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { newDomain } from "../../../test/harness/domains.ts";
import { makeBareWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { countRowsRead } from "../../../test/harness/rows-read.ts";
import { storeBatch } from "../../emails/store/batches.ts";
import { silentLog } from "../../ops/log.ts";
import { openDb } from "../../postgres/pool.ts";
import { findServedKeys, forgetDeletedDomains, listServedKeys, readPublicKeys } from "./dkim-keys.ts";
import { addDomain, deleteDomain } from "./domains.ts";
import { noteSigned, readSigning } from "./sending.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

async function add(name: string) {
  const domain = newDomain(await makeBareWorkspace(database.sql), name);
  assert.ok(await addDomain(database.sql, domain));
  return domain;
}

const labelsOf = (domain: { keys: readonly { label: string }[] }) => domain.keys.map((key) => key.label);
const keysOf = (domain: { keys: readonly { publicKey: string }[] }) => domain.keys.map((key) => key.publicKey);

test("one query returns the keys of many labels, each with its own key", async () => {
  const [a, b] = [await add("a.test"), await add("b.test")];
  const labels = [...labelsOf(a), "unknown-1", ...labelsOf(b)];
  assert.deepEqual(await findServedKeys(database.sql, labels), [...keysOf(a), undefined, ...keysOf(b)]);
  assert.deepEqual(await readPublicKeys(database.sql, a.workspaceId, a.id), keysOf(a));
  const all = await listServedKeys(database.sql);
  for (const { label, publicKey } of a.keys)
    assert.ok(all.some((one) => one.label === label && one.publicKey === publicKey));
});

test("a deleted domain's keys are served for 7 days after the last signature", async () => {
  const { sql } = database;
  const domain = await add("deleted.test");
  const served = async () => (await findServedKeys(sql, labelsOf(domain))).map((key) => key !== undefined);
  await deleteDomain(sql, domain.workspaceId, domain.id);
  assert.deepEqual(await served(), [true, true]);
  await sql`update domains set deleted_at = now() - interval '8 days' where id = ${domain.id}`;
  assert.deepEqual(await served(), [false, false]);
  // Mail that was accepted before the deletion is sent only now.
  await noteSigned(sql, domain.workspaceId, [domain.keys[1]!.id]);
  assert.deepEqual(await served(), [false, true]);
});

test("the successor of a replaced key is served; without a successor, the replaced key is served for 7 days", async () => {
  const { sql } = database;
  const domain = await add("replaced.test");
  const [first] = domain.keys;
  await sql`update dkim_keys set retired_at = service_time() - interval '8 days' where id = ${first!.id}`;
  assert.deepEqual(await findServedKeys(sql, [first!.label]), [undefined]);
  await sql`update dkim_keys set retired_at = service_time() where id = ${first!.id}`;
  assert.deepEqual(await findServedKeys(sql, [first!.label]), [first!.publicKey]);
  await sql`insert into dkim_keys (workspace_id, id, domain_id, slot, label, public_key, private_key_sealed)
    values (${domain.workspaceId}, gen_random_uuid(), ${domain.id}, 1, ${first!.label}, 'successor', '')`;
  assert.deepEqual(await findServedKeys(sql, [first!.label]), ["successor"]);
});

test("domains deleted long ago are removed with their keys, unless a key signed recently", async () => {
  const { sql } = database;
  const [old, busy, recent] = [await add("old.test"), await add("busy.test"), await add("recent.test")];
  for (const domain of [old, busy, recent]) await deleteDomain(sql, domain.workspaceId, domain.id);
  await sql`update domains set deleted_at = now() - interval '91 days' where id in (${old.id}, ${busy.id})`;
  await noteSigned(sql, busy.workspaceId, [busy.keys[0]!.id]);
  assert.equal(await forgetDeletedDomains(sql), 1);
  assert.equal(await readSigning(sql, old.workspaceId, old.id), undefined);
  assert.equal((await sql`select 1 from dkim_keys where domain_id = ${old.id}`).length, 0);
  for (const domain of [busy, recent])
    assert.equal((await readSigning(sql, domain.workspaceId, domain.id))?.keys.length, 2);
});

test("a deleted domain keeps its keys while mail of it may wait, and no waiting mail is read for that", async () => {
  const { sql } = database;
  const domain = await add("waiting.test");
  await sql`update domains set can_send = true where id = ${domain.id}`;
  const scheduledAt = new Date(Date.now() + 86_400_000);
  const { workspaceId } = domain;
  const emails = Array.from({ length: 300 }, () =>
    newEmail(workspaceId, ["a@there.test"], { domain: "waiting.test", scheduledAt }),
  );
  await storeBatch(sql, { workspaceId, emails, answer: [], idempotency: undefined });
  await deleteDomain(sql, workspaceId, domain.id);
  const session = openDb({ url: database.url, pool: 1, log: silentLog() });
  try {
    for (const [days, forgotten] of [
      // UpdateEmail moves mail up to 60 days after its acceptance, and it is then retried for up to 30 days.
      [89, 0],
      [91, 1],
    ]) {
      await sql`update domains set deleted_at = now() - ${days} * interval '1 day' where id = ${domain.id}`;
      const { result, rows } = await countRowsRead(session, "^(emails|email_outcomes)", forgetDeletedDomains);
      assert.deepEqual([result, rows], [forgotten, 0], `${days} days`);
    }
  } finally {
    await session.end();
  }
});
