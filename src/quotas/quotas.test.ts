import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../test/harness/mail.ts";
import { passServiceTime } from "../../test/harness/time.ts";
import { until } from "../../test/harness/wait.ts";
import { createEmailStore } from "../emails/store/emails.ts";
import { insertKey, makeKeySecret } from "../keys/store.ts";
import { createClock } from "../ops/clock.ts";
import { silentLog } from "../ops/log.ts";
import { makeUuid } from "../postgres/ids.ts";
import { partitionOf } from "../postgres/partitions.ts";
import { addFirstOwner } from "../workspaces/store.ts";
import { createInboundQuota } from "./inbound-quota.ts";
import { createQuotas } from "./quotas.ts";
import { noDefaults, unlimited } from "./rules/limits.ts";
import { readOwnerMails } from "./store/notices.ts";
import { forgetDroppedContent, setQuota } from "./store/standing.ts";
import { findNearLimits, readUsage } from "./store/usage.ts";
import { createStreamQuota } from "./streams.ts";
import { sendOwnerMails } from "./watch.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

const quotasOf = (defaults = noDefaults) =>
  createQuotas({ sql: database.sql, log: silentLog(), clock: createClock(), defaults, onEvent() {} });

async function eventsOf(workspaceId: string) {
  const rows = await database.sql<{ type: string; payload: Record<string, unknown> }[]>`
    select type, payload from events where workspace_id = ${workspaceId} order by number`;
  return rows.map(({ type, payload }) => `${type} ${payload.kind} ${payload.percent}`);
}

const addKey = (workspaceId: string) => ({
  id: makeUuid(Date.now()),
  workspaceId,
  name: "k",
  secret: makeKeySecret(false).secret,
  permission: "full" as const,
  test: false,
});

describe("adding", () => {
  it("never exceeds the limit, also by concurrent calls, and refuses with what to do", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    const quotas = quotasOf({ established: { ...unlimited, keys: 5 }, fromSignUp: unlimited });
    const results = await Promise.allSettled(
      Array.from({ length: 12 }, () => quotas.adding(workspaceId, "keys", (tx) => insertKey(tx, addKey(workspaceId)))),
    );
    assert.equal(results.filter(({ status }) => status === "fulfilled").length, 5);
    const refused = results.find((result) => result.status === "rejected");
    assert.match(String(refused!.reason.message), /quota of 5 API keys\. Revoke one/);
    await assert.rejects(quotas.check(workspaceId, "keys"), /quota of 5/);
    await quotas.idle();
  });
});

describe("notices", () => {
  it("come once per window and threshold, whichever node notices it", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    await setQuota(database.sql, workspaceId, { emailsPerHour: 10 });
    const store = createEmailStore(database.sql);
    const send = (count: number) =>
      store.accept(
        newEmail(
          workspaceId,
          Array.from({ length: count }, (_, i) => `p${i}@there.test`),
        ),
      );
    const nodes = [quotasOf(), quotasOf(), quotasOf()];
    const reviewAll = () => Promise.all(nodes.map((node) => node.reviewNow([workspaceId])));
    await send(7);
    await reviewAll();
    assert.deepEqual(await eventsOf(workspaceId), []);
    assert.ok(!(await findNearLimits(database.sql, noDefaults)).includes(workspaceId));
    await send(1);
    assert.ok((await findNearLimits(database.sql, noDefaults)).includes(workspaceId));
    await reviewAll();
    await reviewAll();
    const kind = "QUOTA_KIND_EMAILS_PER_HOUR";
    assert.deepEqual(await eventsOf(workspaceId), [`workspace.quota ${kind} 80`]);
    await send(2);
    await reviewAll();
    assert.deepEqual(await eventsOf(workspaceId), [`workspace.quota ${kind} 80`, `workspace.quota ${kind} 100`]);
    await database.sql`update quota_notices set window_start = window_start - interval '1 hour' where workspace_id = ${workspaceId}`;
    await quotasOf().reviewNow([workspaceId]);
    assert.deepEqual((await eventsOf(workspaceId)).slice(2), [`workspace.quota ${kind} 100`], "the next window");
  });

  it("of a quota without a window come again after it was below, at most once a day", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    await setQuota(database.sql, workspaceId, { keys: 1 });
    const quotas = quotasOf();
    await insertKey(database.sql, addKey(workspaceId));
    await quotas.reviewNow([workspaceId]);
    await quotas.reviewNow([workspaceId]);
    assert.equal((await eventsOf(workspaceId)).length, 1);
    await database.sql`update keys set revoked_at = now() where workspace_id = ${workspaceId}`;
    await quotas.reviewNow([workspaceId]);
    await insertKey(database.sql, addKey(workspaceId));
    await quotas.reviewNow([workspaceId]);
    assert.equal((await eventsOf(workspaceId)).length, 1, "at most once a day");
    await passServiceTime(database.sql, "2 days");
    await quotas.reviewNow([workspaceId]);
    assert.deepEqual(await eventsOf(workspaceId), Array(2).fill("workspace.quota QUOTA_KIND_KEYS 100"));
  });

  it("of a limit of 0 come when it refuses a call, not before", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    await setQuota(database.sql, workspaceId, { keys: 0, webhooks: 0, inboundPerHour: 0 });
    await createEmailStore(database.sql).accept(newEmail(workspaceId, ["a@there.test"]));
    const quotas = quotasOf();
    await quotas.reviewNow([workspaceId]);
    assert.deepEqual(await eventsOf(workspaceId), []);
    assert.ok(!(await findNearLimits(database.sql, noDefaults)).includes(workspaceId));
    await assert.rejects(quotas.check(workspaceId, "keys"), /quota of 0/);
    await assert.rejects(
      quotas.adding(workspaceId, "webhooks", async () => {}),
      /quota of 0/,
    );
    const expected = ["workspace.quota QUOTA_KIND_KEYS 100", "workspace.quota QUOTA_KIND_WEBHOOKS 100"];
    await until("the notices", async () => (await eventsOf(workspaceId)).length === 2);
    assert.deepEqual((await eventsOf(workspaceId)).toSorted(), expected);
  });

  it("of a limit of 0 for inbound mail come when it refuses a message", async () => {
    for (const [kind, name] of [
      ["inboundPerHour", "INBOUND_PER_HOUR"],
      ["storedBytes", "STORED_BYTES"],
    ] as const) {
      const workspaceId = await makeWorkspace(database.sql);
      const mayReceive = createInboundQuota({ sql: database.sql, quotas: quotasOf() });
      assert.equal(await mayReceive(await makeWorkspace(database.sql)), true);
      await setQuota(database.sql, workspaceId, { [kind]: 0 });
      assert.deepEqual([await mayReceive(workspaceId), await mayReceive(workspaceId)], [false, false]);
      await until("the notice", async () => (await eventsOf(workspaceId)).length > 0);
      assert.deepEqual(await eventsOf(workspaceId), [`workspace.quota QUOTA_KIND_${name} 100`]);
    }
  });

  it("are mailed to each owner with an idempotency key, and wait while mail cannot be sent", async () => {
    const workspaceId = await makeWorkspace(database.sql, "Shop");
    await database.sql`delete from owner_mails`;
    const personId = makeUuid(Date.now());
    await database.sql`insert into people (id, email, name) values (${personId}, 'ann@there.test', 'Ann')`;
    await addFirstOwner(database.sql, { workspaceId, id: makeUuid(Date.now()), personId, email: "ann@there.test" });
    await setQuota(database.sql, workspaceId, { keys: 1 });
    await insertKey(database.sql, addKey(workspaceId));
    await quotasOf().reviewNow([workspaceId]);
    const sent: { to: string; subject: string; idempotencyKey: string }[] = [];
    let canSend = false;
    const mail = { canSend: async () => canSend, send: async (one: (typeof sent)[number]) => void sent.push(one) };
    const deps = { sql: database.sql, log: silentLog(), mail };
    await sendOwnerMails(deps);
    assert.equal((await readOwnerMails(database.sql)).length, 1);
    canSend = true;
    await sendOwnerMails(deps);
    await sendOwnerMails(deps);
    assert.deepEqual(
      sent.map(({ to, subject }) => [to, subject]),
      [["ann@there.test", "Shop: the quota of 1 API keys is used up"]],
    );
    assert.match(sent[0]!.idempotencyKey, /^owner-mail-[0-9a-f-]{36}-ann@there\.test$/);
  });
});

describe("mail to owners", () => {
  it("that waits for more than a day is deleted and not sent", async () => {
    const { sql } = database;
    await sql`delete from owner_mails`;
    const workspaceId = await makeWorkspace(sql);
    await setQuota(sql, workspaceId, { keys: 1 });
    await insertKey(sql, addKey(workspaceId));
    await quotasOf().reviewNow([workspaceId]);
    await sql`update owner_mails set created_at = created_at - interval '25 hours'`;
    await sql`insert into owner_mails (id, workspace_id, subject, body, created_at)
      values (${makeUuid(Date.now())}, ${workspaceId}, 'Recent', '', service_time() - interval '23 hours')`;
    const mail = { canSend: async () => false, send: async () => {} };
    await sendOwnerMails({ sql, log: silentLog(), mail });
    assert.deepEqual(
      (await readOwnerMails(sql)).map(({ subject }) => subject),
      ["Recent"],
    );
  });
});

describe("stored bytes", () => {
  it("are subtracted when the partition of the content is dropped, once", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    const store = createEmailStore(database.sql);
    await store.accept(newEmail(workspaceId, ["a@there.test"], { sizeBytes: 700 }));
    const scheduledAt = new Date(Date.now() + 20 * 86_400_000);
    await store.accept(newEmail(workspaceId, ["a@there.test"], { sizeBytes: 300, scheduledAt }));
    const used = async () => (await readUsage(database.sql, [workspaceId]))[0]!.used.storedBytes;
    await forgetDroppedContent(database.sql);
    assert.equal(await used(), 1000);
    await database.sql.unsafe(`drop table ${partitionOf("email_contents", scheduledAt.getTime()).name}`);
    await Promise.all([forgetDroppedContent(database.sql), forgetDroppedContent(database.sql)]);
    assert.equal(await used(), 700);
  });
});

describe("dropped content", () => {
  it("of a workspace whose count is in use does not hold the counts of others", async () => {
    const { sql } = database;
    const ids = await Promise.all(Array.from({ length: 12 }, () => makeWorkspace(sql)));
    const store = createEmailStore(sql);
    const scheduledAt = new Date(Date.now() + 25 * 86_400_000);
    for (const id of ids) await store.accept(newEmail(id, ["a@there.test"], { sizeBytes: 300, scheduledAt }));
    await sql.unsafe(`drop table ${partitionOf("email_contents", scheduledAt.getTime()).name}`);
    let forgetting: Promise<void> | undefined;
    await sql.begin(async (tx) => {
      await tx`select 1 from workspace_usage where workspace_id = ${ids[6]!} for update`;
      forgetting = forgetDroppedContent(sql);
      await until("housekeeping to wait for the workspace", async () => {
        const rows = await sql`
          select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
        return rows.length > 0;
      });
      await tx`select 1 from workspace_usage where workspace_id = any(${ids}::uuid[]) for update nowait`;
    });
    await forgetting;
    const used = await readUsage(sql, ids);
    assert.deepEqual(new Set(used.map((one) => one.used.storedBytes)), new Set([0]));
  });
});

describe("event streams", () => {
  it("are limited on all nodes together", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    await setQuota(database.sql, workspaceId, { streams: 3 });
    const quotas = quotasOf();
    const [one, two] = [makeUuid(Date.now()), makeUuid(Date.now())].map((node) =>
      createStreamQuota({ sql: database.sql, quotas, node }),
    );
    const close = await one!.open(workspaceId);
    await one!.open(workspaceId);
    await one!.sync();
    await two!.sync();
    await two!.open(workspaceId);
    await assert.rejects(two!.open(workspaceId), /quota of 3 open event streams/);
    await two!.sync();
    assert.equal((await readUsage(database.sql, [workspaceId]))[0]!.used.streams, 3);
    close();
    close();
    await one!.sync();
    await two!.sync();
    await two!.open(workspaceId);
    await one!.stop();
    await two!.sync();
    assert.equal((await readUsage(database.sql, [workspaceId]))[0]!.used.streams, 2);
    await quotas.idle();
  });
});
