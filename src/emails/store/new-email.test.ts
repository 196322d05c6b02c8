import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeBareWorkspace, makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { systemKeyId } from "../../keys/store.ts";
import { noDefaults, type QuotaDefaults, unlimited } from "../../quotas/rules/limits.ts";
import { storeBatch } from "./batches.ts";
import { createEmailStore, type NewEmail } from "./emails.ts";
import { countedAs, isSystemMail, requestedEmails, willBeRefused } from "./new-email.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

const key = (name: string) => ({ key: name, requestHash: "hash", keptForMs: 3_600_000 });
const hourly = (emailsPerHour: number): QuotaDefaults => ({
  established: { ...unlimited, emailsPerHour },
  fromSignUp: unlimited,
});
/** The statement that stores the email decides: the look-up must agree with it, and must leave nothing behind. */
async function refusedBoth(email: NewEmail, quotas = noDefaults): Promise<boolean> {
  const { sql } = database;
  const expected = await willBeRefused(sql, [email], { quotas });
  assert.deepEqual([...(await sql`select 1 from emails where id = ${email.id}`)], []);
  const { stored } = await createEmailStore(sql, { quotas }).accept(email);
  assert.equal(expected, !stored, "the look-up and the statement that stores the email disagree");
  return expected;
}

test("an email that may be sent will not be refused", async () => {
  const workspaceId = await makeWorkspace(database.sql);
  assert.equal(await refusedBoth(newEmail(workspaceId, ["a@there.test"], { idempotency: key("new") })), false);
});

test("an email will be refused if its domain may not send, is deleted, or belongs to another workspace", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const other = await makeBareWorkspace(sql);
  const from = (id: string, extra: Partial<NewEmail> = {}) => newEmail(id, ["a@there.test"], extra);
  assert.equal(await refusedBoth(from(workspaceId, { domain: "unknown.test" })), true);
  assert.equal(await refusedBoth(from(other)), true);
  assert.equal(await refusedBoth(from(other, { domainWorkspaceId: workspaceId })), false, "mail of Posthorn itself");
  await sql`update domains set can_send = false where workspace_id = ${workspaceId}`;
  assert.equal(await refusedBoth(from(workspaceId)), true);
  await sql`update domains set can_send = true, deleted_at = now() where workspace_id = ${workspaceId}`;
  assert.equal(await refusedBoth(from(workspaceId)), true);
});

test("an email will be refused if its idempotency key is used in its workspace and has not expired", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const other = await makeWorkspace(sql);
  const again = (id = workspaceId) => newEmail(id, ["a@there.test"], { idempotency: key("used") });
  assert.equal(await refusedBoth(again()), false);
  assert.equal(await refusedBoth(again()), true);
  assert.equal(await refusedBoth(again(other)), false, "keys of other workspaces do not count");
  await sql`update idempotency set expires_at = service_time() - interval '1 second' where workspace_id = ${workspaceId}`;
  assert.equal(await refusedBoth(again()), false, "the key has expired");
});

test("an email will be refused beyond the quota of its workspace, and in a suspended one; mail of Posthorn does not count", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const two = (extra: Partial<NewEmail> = {}) => newEmail(workspaceId, ["a@there.test", "b@there.test"], extra);
  assert.equal(await refusedBoth(two(), hourly(1)), true);
  assert.equal(await refusedBoth(two(), hourly(3)), false);
  assert.equal(await refusedBoth(two(), hourly(3)), true);
  assert.equal(await refusedBoth(two({ keyId: systemKeyId }), hourly(3)), false);
  await sql`update workspaces set suspended_at = now(), suspended_reason = 'abuse' where id = ${workspaceId}`;
  assert.equal(await refusedBoth(two()), true);
});

test("a batch will be refused if its own key is used, or if one of its emails is refused, also only together with the others", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const emails = () => [1, 2].map(() => newEmail(workspaceId, ["a@there.test"]));
  await storeBatch(sql, { workspaceId, emails: emails(), answer: [], idempotency: key("batch") });
  assert.equal(await willBeRefused(sql, emails(), { quotas: noDefaults }), false);
  assert.equal(await willBeRefused(sql, emails(), { quotas: noDefaults, batchKey: "batch" }), true);
  assert.equal(await willBeRefused(sql, emails(), { quotas: noDefaults, batchKey: "another" }), false);
  const [good] = emails();
  const bad = newEmail(workspaceId, ["a@there.test"], { domain: "unknown.test" });
  assert.equal(await willBeRefused(sql, [good!, bad], { quotas: noDefaults }), true);
  assert.equal(await willBeRefused(sql, emails(), { quotas: hourly(4) }), false);
  assert.equal(await willBeRefused(sql, emails(), { quotas: hourly(3) }), true, "one of them would fit");
});

test("the requested emails have one row each, with the time of their id", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const quoted = newEmail(workspaceId, ["a@there.test"], { subject: `"quotes", \\ and \u2028`, retryForMs: 90_000 });
  const unknown = newEmail(workspaceId, ["a@there.test", "b@there.test"], { domain: "unknown.test" });
  const rows = await sql<Record<string, unknown>[]>`
    with ${requestedEmails(sql, [quoted, unknown])}
    select id, subject, total, extract(epoch from retry_for)::int as "retrySeconds", domain_id is not null as "hasDomain",
      created_at = to_timestamp(('x' || replace(left(id::text, 13), '-', ''))::bit(48)::bigint / 1000.0) as "isTimeOfId" from requested`;
  assert.deepEqual(
    [...rows],
    [
      { id: quoted.id, subject: quoted.subject, total: 1, retrySeconds: 90, hasDomain: true, isTimeOfId: true },
      {
        id: unknown.id,
        subject: unknown.subject,
        total: 2,
        retrySeconds: unknown.retryForMs / 1000,
        hasDomain: false,
        isTimeOfId: true,
      },
    ],
  );
});

test("recipients count, and mail of Posthorn itself is free", () => {
  const email = newEmail("01932c5e-7b1a-7abc-8def-ffffffffffff", ["a@there.test", "b@there.test"], { sizeBytes: 7 });
  const { id, workspaceId } = email;
  assert.deepEqual(countedAs(email), { id, workspaceId, sizeBytes: 7, total: 2, free: false });
  assert.equal(isSystemMail({ ...email, keyId: systemKeyId }), true);
});
