/** Migration 0018 on a database with workspaces, people and mail: none of them is limited, and what comes later is counted. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { findLanes, leaseDue } from "../../src/delivery/store/lease.ts";
import { createEmailStore } from "../../src/emails/store/emails.ts";
import { silentLog } from "../../src/ops/log.ts";
import { withoutReceipt } from "../../src/postgres/brief-locks.ts";
import { makeUuid } from "../../src/postgres/ids.ts";
import { migrate } from "../../src/postgres/migrate.ts";
import { createPartitions } from "../../src/postgres/partitions.ts";
import { schemaState } from "../../src/postgres/schema-state.ts";
import { makeLease, registerWorker } from "../../src/postgres/workers.ts";
import { resumptionNotice, suspensionNotice } from "../../src/quotas/notice-text.ts";
import { noDefaults, unlimited } from "../../src/quotas/rules/limits.ts";
import { foldOutcomes } from "../../src/quotas/store/brakes.ts";
import { forgetDroppedContent, resume, setQuota, suspend } from "../../src/quotas/store/standing.ts";
import { readUsage } from "../../src/quotas/store/usage.ts";
import { createOwnedWorkspace } from "../../src/workspaces/store.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { newEmail } from "../harness/mail.ts";
import { earlierMigrations } from "../harness/migrations.ts";
import { passServiceTime } from "../harness/time.ts";

const first = "00000000-0000-4000-8000-000000000001";
const second = "00000000-0000-4000-8000-000000000002";
const ada = { personId: "10000000-0000-4000-8000-000000000001", email: "ada@example.test" };
const queuedId = makeUuid(Date.now());

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase({ migrated: false });
  const { sql } = database;
  const { folder, remove } = await earlierMigrations(17);
  await migrate(sql, silentLog(), { folder });
  await remove();
  await createPartitions(sql, Date.now());
  const rows = await readFile(new URL("frozen-rows.sql", import.meta.url), "utf8");
  await sql.begin(async (tx) => {
    await tx.unsafe(`create function pg_temp.uuid7(n int) returns uuid language sql as $$
      select (lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0') || '7000' || '8' || lpad(to_hex(n), 15, '0'))::uuid $$`);
    await tx.unsafe(rows);
    await tx`insert into emails (workspace_id, id, domain_id, domain, from_address, subject, message_id, envelope, open, total, size_bytes,
        content_day, expires_at, default_expires_at)
      select workspace_id, ${queuedId}::uuid, domain_id, domain, from_address, subject, message_id, envelope, 1, 1, 100, content_day,
        now() + interval '2 days', service_time() + interval '2 days' from emails limit 1`;
    await tx`insert into recipients (workspace_id, email_id, position, kind, address, destination, due_at)
      values (${first}, ${queuedId}, 0, 'to', 'q@waiting.test', 'waiting.test', service_time())`;
  }, withoutReceipt);
  assert.equal((await schemaState(sql)).version, 17);
  await migrate(sql, silentLog());
});
after(async () => await database?.drop());

test("existing workspaces are established, active and without limits of their own", async () => {
  const [usage, other] = await readUsage(database.sql, [first, second]);
  for (const one of [usage!, other!])
    assert.deepEqual(
      [one.fromSignUp, one.quota, one.suspendedAt, one.suspendedReason, one.warning],
      [false, {}, null, null, null],
    );
  assert.deepEqual([usage!.used.keys, usage!.used.domains, usage!.used.members], [1, 1, 2], "counted things");
  const { emailsPerHour, emailsPerDay, storedBytes, inboundPerHour, streams } = usage!.used;
  assert.deepEqual(
    [emailsPerHour, emailsPerDay, storedBytes, inboundPerHour, streams],
    [0, 0, 0, 0, 0],
    "earlier mail",
  );
});

test("the owner of an existing workspace stays established under open sign-up", async () => {
  const { sql } = database;
  const workspace = await createOwnedWorkspace(sql, {
    workspace: { id: makeUuid(Date.now()), name: "Third" },
    member: { id: makeUuid(Date.now()), ...ada },
    signUpIsOpen: true,
    most: { established: 2, fromSignUp: 0 },
  });
  const [row] = await sql<
    { isNew: boolean }[]
  >`select from_sign_up as "isNew" from workspaces where id = ${workspace.id}`;
  assert.equal(row!.isNew, false);
});

test("queued mail of the earlier version waits during a suspension, and its expiry is extended", async () => {
  const { sql } = database;
  const workerId = await registerWorker(sql, { host: "test", pid: 1, roles: ["delivery"], version: "0" });
  const lease = async (number: number) =>
    await leaseDue(
      sql,
      makeLease(workerId, number),
      (await findLanes(sql, 100))
        .filter(({ destination, isSuspended }) => destination === "waiting.test" && !isSuspended)
        .map((lane) => ({ ...lane, quota: 10 })),
    );
  const named = { workspaceId: first, name: "First" };
  const notice = suspensionNotice(named, "Unpaid.", undefined, Date.now());
  assert.equal(await suspend(sql, { notice, reason: "Unpaid.", automatic: false }), true);
  await passServiceTime(sql, "1 hour");
  assert.deepEqual(await lease(1), []);
  assert.equal(await resume(sql, resumptionNotice(named, undefined, Date.now())), true);
  const [leased] = await lease(2);
  assert.equal(leased?.emailId, queuedId);
  const [row] = await sql<{ at: Date }[]>`select default_expires_at as at from emails where id = ${queuedId}`;
  const minutes = (leased!.email.defaultExpiresAt!.getTime() - row!.at.getTime()) / 60_000;
  assert.ok(minutes > 59 && minutes < 61, `${minutes} minutes`);
});

test("mail from now on is counted from 0, and retention of earlier content subtracts nothing", async () => {
  const { sql } = database;
  await setQuota(sql, first, { emailsPerHour: 2 });
  const store = createEmailStore(sql, { quotas: noDefaults });
  const send = () => store.accept(newEmail(first, ["a@there.test"], { sizeBytes: 10 }));
  assert.deepEqual([await send(), await send()], [{ stored: true }, { stored: true }]);
  assert.equal((await send()).stored, false);
  await forgetDroppedContent(sql);
  const [usage] = await readUsage(sql, [first]);
  assert.deepEqual([usage!.used.emailsPerHour, usage!.used.storedBytes], [2, 20]);
  const limited = createEmailStore(sql, {
    quotas: { established: { ...unlimited, emailsPerDay: 0 }, fromSignUp: unlimited },
  });
  assert.equal((await limited.accept(newEmail(first, ["a@there.test"]))).stored, false);
});

test("the abuse brake reads the earlier log without a warning", async () => {
  const { sql } = database;
  while (await foldOutcomes(sql, { workspaces: 50, events: 500, restMs: 0, systemKeyId: makeUuid(Date.now()) }));
  const [usage] = await readUsage(sql, [first]);
  assert.equal(usage!.warning, null);
});
