/** The database's clock jumps and comes back. Checks, leases and DKIM keys go by service time, so nothing of them changes. */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { newDomain } from "../../../test/harness/domains.ts";
import { makeBareWorkspace } from "../../../test/harness/mail.ts";
import { passServiceTime, shiftWallTime } from "../../../test/harness/time.ts";
import { makeUuid } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { claimDue, claimStale, claimVerify } from "./checks.ts";
import { findServedKeys, forgetDeletedDomains, readRotation, replaceKey } from "./dkim-keys.ts";
import { addDomain, deleteDomain, getDomain } from "./domains.ts";
import { noteSigned, readSigning } from "./sending.ts";

let database: TestDatabase;
let sql: Sql;
before(async () => {
  database = await createTestDatabase();
  sql = database.sql;
});
after(async () => await database.drop());
afterEach(() => shiftWallTime(sql, "0 days"));

const jumps = ["3 days", "-3 days", "30 days", "-30 days", "400 days", "0 days"];
const lease = () => makeUuid(Date.now());

async function add(name: string) {
  const domain = newDomain(await makeBareWorkspace(sql), name);
  assert.ok(await addDomain(sql, domain));
  return domain;
}

test("a jump makes no check due, opens no interval and frees no lease", async () => {
  const { workspaceId, id } = await add("jump.test");
  const verify = () => claimVerify(sql, { workspaceId, id, lease: lease(), intervalMs: 60_000 });
  assert.ok(await verify());
  await sql`update domains set check_lease_until = check_lease_until + interval '1 minute' where id = ${id}`;
  for (const jump of jumps) {
    await shiftWallTime(sql, jump);
    assert.equal(await verify(), undefined, jump);
    assert.deepEqual(await claimDue(sql, { lease: lease(), limit: 10 }), [], jump);
    assert.equal(await claimStale(sql, { workspaceId, id, lease: lease(), staleAfterMs: 300_000 }), undefined, jump);
    assert.equal((await getDomain(sql, workspaceId, id))?.checking, true, jump);
  }
  for (const jump of jumps) {
    await shiftWallTime(sql, jump);
    await passServiceTime(sql, "90 seconds");
    assert.ok(await verify(), `the lease and the interval end at ${jump}`);
  }
});

test("a domain registered while the clock is ahead has the age that was observed", async () => {
  await shiftWallTime(sql, "400 days");
  const { workspaceId, id } = await add("ahead.test");
  await shiftWallTime(sql, "0 days");
  await passServiceTime(sql, "73 hours");
  const row = (await getDomain(sql, workspaceId, id)) ?? assert.fail();
  const hours = (row.readAt.getTime() - row.registeredAt.getTime()) / 3_600_000;
  assert.ok(hours > 72 && hours < 74, String(hours));
  assert.equal((await claimDue(sql, { lease: lease(), limit: 100 })).filter((one) => one.id === id).length, 1);
});

test("keys made while the clock is ahead sign at once, and a replaced key stays in DNS for 7 observed days", async () => {
  await shiftWallTime(sql, "400 days");
  const { workspaceId, id, keys } = await add("keys.test");
  await shiftWallTime(sql, "0 days");
  assert.equal((await readSigning(sql, workspaceId, id))?.keys.length, 2);
  const [first] = keys;
  const served = async () => (await findServedKeys(sql, [first!.label]))[0];
  const key = { id: lease(), slot: 1, label: first!.label, publicKey: "new", privateKeySealed: "", primes: 3 } as const;
  const signsFrom = await replaceKey(sql, { workspaceId, domainId: id, id: first!.id }, key, 3600);
  const inMinutes = (signsFrom.getTime() - Date.now()) / 60_000;
  assert.ok(inMinutes > 58 && inMinutes < 62, `shown in wall time: ${inMinutes}`);
  for (const jump of jumps) {
    await shiftWallTime(sql, jump);
    assert.equal((await readRotation(sql, workspaceId, id)).waiting, true, jump);
  }
  await sql`delete from dkim_keys where id = ${key.id}`;
  await noteSigned(sql, workspaceId, [first!.id]);
  await deleteDomain(sql, workspaceId, id);
  for (const jump of jumps) {
    await shiftWallTime(sql, jump);
    assert.equal(await served(), first!.publicKey, jump);
    assert.equal(await forgetDeletedDomains(sql), 0, jump);
  }
  await passServiceTime(sql, "8 days");
  assert.equal(await served(), undefined);
  await passServiceTime(sql, "83 days");
  assert.equal(await forgetDeletedDomains(sql), 1);
});

test("the operator's check runs also while service time does not advance", async () => {
  const { workspaceId, id } = await add("still.test");
  await sql`update domains set registered_at = registered_at + interval '1 minute' where id = ${id}`;
  assert.ok(await claimStale(sql, { workspaceId, id, lease: lease(), staleAfterMs: 0 }));
});
