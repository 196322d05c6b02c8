import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { storeBatch } from "../../emails/store/batches.ts";
import { createEmailStore, type NewEmail } from "../../emails/store/emails.ts";
import { systemKeyId } from "../../keys/store.ts";
import { Problem } from "../../ops/problem.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { noDefaults, type QuotaDefaults, unlimited } from "../rules/limits.ts";
import { countedInbound } from "./receiving.ts";
import { setQuota, suspend } from "./standing.ts";
import { readUsage } from "./usage.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

const withHour = (emailsPerHour: number): QuotaDefaults => ({
  established: { ...unlimited, emailsPerHour },
  fromSignUp: unlimited,
});
const people = (count: number) => Array.from({ length: count }, (_, i) => `p${i}@there.test`);

async function usedBy(workspaceId: string) {
  const [usage] = await readUsage(database.sql, [workspaceId]);
  return usage!.used;
}

/** The codes of refusals, and undefined for stored emails. */
async function acceptAll(emails: NewEmail[], quotas: QuotaDefaults, concurrency = 2) {
  const store = createEmailStore(database.sql, { quotas, concurrency });
  const answers = await Promise.all(emails.map((email) => store.accept(email)));
  return answers.map((answer) => ("refused" in answer ? answer.refused : undefined));
}

describe("the quota of emails per hour", () => {
  it("counts recipients, refuses the rest with the time until the window ends, and counts only stored emails", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    const refusals = await acceptAll(
      [4, 4, 4].map((count) => newEmail(workspaceId, people(count))),
      withHour(10),
    );
    const refused = refusals.filter((one) => one !== undefined);
    assert.equal(refused.length, 1);
    assert.equal(refused[0]!.code, "resource_exhausted");
    assert.ok(refused[0]!.retryAfterMs! > 0 && refused[0]!.retryAfterMs! <= 3_600_000);
    assert.deepEqual([(await usedBy(workspaceId)).emailsPerHour, (await usedBy(workspaceId)).emailsPerDay], [8, 8]);
  });

  it("is exact when many statements of several nodes run at the same time", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    const nodes = Array.from({ length: 6 }, () =>
      createEmailStore(database.sql, { quotas: withHour(100), concurrency: 2 }),
    );
    const answers = await Promise.all(
      Array.from({ length: 300 }, (_, i) => nodes[i % nodes.length]!.accept(newEmail(workspaceId, ["a@there.test"]))),
    );
    assert.equal(answers.filter((answer) => answer.stored).length, 100);
    assert.equal((await usedBy(workspaceId)).emailsPerHour, 100);
    const [row] = await database.sql<
      { n: number }[]
    >`select count(*)::int as n from emails where workspace_id = ${workspaceId}`;
    assert.equal(row!.n, 100);
  });

  it("is exact for large emails and batches, which are stored in several statements", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    const large = () => newEmail(workspaceId, ["a@there.test"], { parts: ["{}", "x".repeat(1_500_000)] });
    const refusals = await acceptAll(Array.from({ length: 8 }, large), withHour(5));
    assert.equal(refusals.filter((one) => one === undefined).length, 5);
    const batch = () =>
      storeBatch(database.sql, {
        workspaceId,
        emails: [newEmail(workspaceId, people(2)), newEmail(workspaceId, people(2))],
        answer: [],
        idempotency: undefined,
        quotas: withHour(13),
      }).then(
        () => "stored",
        (error) => (error as Problem).code,
      );
    const batches = await Promise.all([batch(), batch(), batch(), batch()]);
    assert.deepEqual(batches.sort(), ["resource_exhausted", "resource_exhausted", "stored", "stored"]);
    assert.equal((await usedBy(workspaceId)).emailsPerHour, 13);
  });

  it("starts again in the next hour, but the day goes on", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    const quotas = { established: { ...unlimited, emailsPerHour: 2, emailsPerDay: 3 }, fromSignUp: unlimited };
    assert.equal((await acceptAll([newEmail(workspaceId, people(2))], quotas))[0], undefined);
    assert.equal((await acceptAll([newEmail(workspaceId, people(1))], quotas))[0]?.metadata.quota, "emailsPerHour");
    await database.sql`update workspace_usage set hour = hour - interval '1 hour' where workspace_id = ${workspaceId}`;
    assert.equal((await acceptAll([newEmail(workspaceId, people(2))], quotas))[0]?.metadata.quota, "emailsPerDay");
    assert.equal((await acceptAll([newEmail(workspaceId, people(1))], quotas))[0], undefined);
    assert.deepEqual([(await usedBy(workspaceId)).emailsPerHour, (await usedBy(workspaceId)).emailsPerDay], [1, 3]);
  });

  it("does not limit other workspaces of the same statement, and not mail of Posthorn itself", async () => {
    const full = await makeWorkspace(database.sql);
    const other = await makeWorkspace(database.sql);
    await setQuota(database.sql, full, { emailsPerHour: 0 });
    const refusals = await acceptAll(
      [newEmail(full, people(1)), newEmail(other, people(1)), newEmail(full, people(1), { keyId: systemKeyId })],
      noDefaults,
    );
    assert.deepEqual(
      refusals.map((one) => one?.code),
      ["resource_exhausted", undefined, undefined],
    );
    assert.equal((await usedBy(full)).emailsPerHour, 0);
  });

  it("is not used up by emails of the same statement that are not stored", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    const quotas = withHour(10);
    // Keys decide the order in the statement.
    const withKey = (key: string, count: number, extra: Partial<NewEmail> = {}) => {
      const idempotency = { key, requestHash: "h", keptForMs: 60_000 };
      return newEmail(workspaceId, people(count), { idempotency, ...extra });
    };
    await acceptAll([withKey("a", 2)], quotas);
    // The first email is alone in its statement. The others share the next one.
    const emails = [
      newEmail(workspaceId, people(1)),
      withKey("a", 2),
      withKey("b", 9),
      withKey("c", 6, { domain: "unknown.test" }),
      withKey("d", 3),
      withKey("e", 5),
      withKey("f", 4),
    ];
    const store = createEmailStore(database.sql, { quotas, concurrency: 1 });
    const answers = await Promise.all(emails.map((email) => store.accept(email)));
    assert.deepEqual(
      answers.map((answer) => ("refused" in answer ? answer.refused.code : answer.stored)),
      [true, false, "resource_exhausted", false, true, "resource_exhausted", true],
    );
    assert.equal((await usedBy(workspaceId)).emailsPerHour, 10);
  });

  it("counts a repeated call once, also when two nodes get it at the same time", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    const idempotency = { key: "once", requestHash: "h", keptForMs: 60_000 };
    const nodes = [
      createEmailStore(database.sql, { quotas: withHour(5) }),
      createEmailStore(database.sql, { quotas: withHour(5) }),
    ];
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => nodes[i % 2]!.accept(newEmail(workspaceId, people(1), { idempotency }))),
    );
    assert.equal(answers.filter((answer) => answer.stored).length, 1);
    assert.equal((await usedBy(workspaceId)).emailsPerHour, 1);
  });

  it("that the operator lowers below what is used refuses, and that they raise allows", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    await acceptAll([newEmail(workspaceId, people(5))], noDefaults);
    await setQuota(database.sql, workspaceId, { emailsPerHour: 2 });
    assert.equal((await acceptAll([newEmail(workspaceId, people(1))], noDefaults))[0]?.code, "resource_exhausted");
    await setQuota(database.sql, workspaceId, { emailsPerHour: undefined });
    assert.equal((await acceptAll([newEmail(workspaceId, people(1))], noDefaults))[0], undefined);
  });
});

describe("a deadlock", () => {
  it("with another transaction does not fail the call: it is repeated", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    const quotas = withHour(100);
    await acceptAll([newEmail(workspaceId, people(1))], quotas);
    const idempotency = { key: "order-9", requestHash: "h", keptForMs: 3_600_000 };
    let refusals: Promise<unknown[]> | undefined;
    await database.sql.begin(async (tx) => {
      // PostgreSQL ends the transaction that looks for a deadlock first.
      await tx`set local deadlock_timeout = '60s'`;
      await tx`select 1 from workspace_usage where workspace_id = ${workspaceId} for update`;
      refusals = acceptAll([newEmail(workspaceId, people(1), { idempotency })], quotas);
      refusals.catch(() => {});
      // Waits for the key of the call while the call waits for the count.
      await tx.unsafe(`do $$ begin
        while not exists (select 1 from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))) loop
          perform pg_sleep(0.01);
        end loop;
        insert into idempotency (workspace_id, key, request_hash, email_id, expires_at)
          values ('${workspaceId}', 'order-9', 'other', '${workspaceId}', service_time() - interval '1 hour');
      end $$`);
    });
    assert.deepEqual(await refusals, [undefined]);
    assert.equal((await usedBy(workspaceId)).emailsPerHour, 2);
  });
});

describe("the quota of stored bytes", () => {
  it("refuses without a time to come back", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    await setQuota(database.sql, workspaceId, { storedBytes: 1000 });
    const sized = (sizeBytes: number) => newEmail(workspaceId, people(1), { sizeBytes });
    const refusals = await acceptAll([sized(600), sized(600)], noDefaults);
    const [refused] = refusals.filter((one) => one !== undefined);
    assert.deepEqual(
      [refused!.code, refused!.retryAfterMs, refused!.metadata.quota],
      ["resource_exhausted", undefined, "storedBytes"],
    );
    assert.equal((await usedBy(workspaceId)).storedBytes, 600);
  });

  it("is exact for large emails, small ones and batches that are stored at the same time", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    await setQuota(database.sql, workspaceId, { storedBytes: 10_000 });
    const nodes = Array.from({ length: 4 }, () => createEmailStore(database.sql, { concurrency: 2 }));
    const accept = (i: number, sizeBytes: number, extra: Partial<NewEmail> = {}) =>
      nodes[i % nodes.length]!.accept(newEmail(workspaceId, people(1), { sizeBytes, ...extra }));
    const parts = ["{}", "x".repeat(1_500_000)];
    const large = await Promise.all(Array.from({ length: 8 }, (_, i) => accept(i, 1500, { parts })));
    assert.equal(large.filter(({ stored }) => stored).length, 6);
    assert.equal((await usedBy(workspaceId)).storedBytes, 9000);
    await setQuota(database.sql, workspaceId, { storedBytes: 13_500 });
    const batch = async () => {
      const emails = [1, 2].map(() => newEmail(workspaceId, people(1), { sizeBytes: 700 }));
      await storeBatch(database.sql, { workspaceId, emails, answer: [], idempotency: undefined });
    };
    await Promise.allSettled([batch(), batch(), batch(), batch()]);
    assert.equal((await usedBy(workspaceId)).storedBytes, 9000 + 3 * 1400);
    await setQuota(database.sql, workspaceId, { storedBytes: 20_000 });
    await Promise.all(Array.from({ length: 60 }, (_, i) => accept(i, 300)));
    assert.equal((await usedBy(workspaceId)).storedBytes, 13_200 + 22 * 300);
    const [row] = await database.sql<{ bytes: number }[]>`
      select sum(size_bytes)::float8 as bytes from emails where workspace_id = ${workspaceId}`;
    assert.equal(row!.bytes, 19_800, "as counted");
  });

  it("counts in several rows while much is left, then in one", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    const gib = 2 ** 30;
    await setQuota(database.sql, workspaceId, { storedBytes: 100 * gib });
    const send = () => acceptAll([newEmail(workspaceId, people(1), { sizeBytes: 10 })], noDefaults);
    const slots = async () =>
      (
        await database.sql<{ slot: number }[]>`
          select slot from workspace_usage where workspace_id = ${workspaceId} order by slot`
      ).map(({ slot }) => slot);
    await send();
    const [far] = await slots();
    assert.notEqual(far, 0);
    await database.sql`update workspace_usage set stored_bytes = ${97 * gib} where workspace_id = ${workspaceId}`;
    await send();
    assert.deepEqual(await slots(), [0, far]);
    await setQuota(database.sql, workspaceId, { storedBytes: 97 * gib + 29 });
    assert.equal((await send())[0], undefined);
    assert.equal((await send())[0]?.metadata.quota, "storedBytes", "the bytes of all rows count");
  });

  it("does not keep inbound mail from being counted", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    await setQuota(database.sql, workspaceId, { storedBytes: 1000 });
    await acceptAll([newEmail(workspaceId, people(1), { sizeBytes: 900 })], noDefaults);
    const id = makeUuid(Date.now());
    await database.sql`with unseen as (select ${workspaceId}::uuid as workspace_id, ${id}::uuid as id, 500 as size_bytes),
      ${countedInbound(database.sql)} select 1`;
    assert.equal((await usedBy(workspaceId)).storedBytes, 1400);
  });
});

describe("a suspended workspace", () => {
  it("cannot store emails, and the reason is in the answer", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    const notice = {
      eventId: makeUuid(Date.now()),
      workspaceId,
      type: "workspace.suspended",
      payload: {},
      mail: { subject: "", body: "" },
    };
    assert.equal(await suspend(database.sql, { notice, reason: "Unpaid bills.", automatic: false }), true);
    assert.equal(await suspend(database.sql, { notice, reason: "Again.", automatic: false }), false);
    const [refused] = await acceptAll([newEmail(workspaceId, people(1))], noDefaults);
    assert.ok(refused instanceof Problem);
    assert.equal(refused.code, "failed_precondition");
    assert.match(refused.message, /suspended and cannot send: Unpaid bills\./);
  });
});
