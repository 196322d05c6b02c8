import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { countRowsRead } from "../../../test/harness/rows-read.ts";
import { until } from "../../../test/harness/wait.ts";
import { createEmailStore } from "../../emails/store/emails.ts";
import { appendEvent } from "../../events/store.ts";
import { firstUuidAt, makeUuid } from "../../postgres/ids.ts";
import { oldestEmailsAt } from "../../postgres/retention.ts";
import { addCounts, type CountName, noCounts, otherSites, quantile } from "../rules.ts";
import { foldStats } from "./fold.ts";
import { countedUntil, forgetStats, statsByBucket, statsBySite } from "./stats.ts";

const hourMs = 3_600_000;
let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

/** With a clock ten seconds ahead, because an email is counted only when its id is a few seconds old. */
const limits = (extra: { workspaces?: number; rows?: number; nowMs?: number } = {}) => ({
  nowMs: Date.now() + 10_000,
  workspaces: 50,
  rows: 1000,
  ...extra,
});

async function foldAll(extra: Parameters<typeof limits>[0] = {}): Promise<void> {
  while ((await foldStats(database.sql, limits(extra))).behind);
}

const span = (workspaceId: string) => ({
  workspaceId,
  from: new Date(Date.now() - 48 * hourMs),
  to: new Date(Date.now() + hourMs),
});

async function totals(workspaceId: string) {
  const buckets = await statsByBucket(database.sql, span(workspaceId), 1);
  return [...buckets.values()].reduce(addCounts, noCounts());
}

async function event(workspaceId: string, type: string, extra: { mx?: string; emailId?: string } = {}): Promise<void> {
  await appendEvent(database.sql, {
    id: makeUuid(Date.now()),
    workspaceId,
    type,
    payload: { recipients: ["a@there.test"], ...(extra.mx === undefined ? {} : { remoteMx: extra.mx }) },
    ...(extra.emailId ? { email: { id: extra.emailId, messageId: "<x@sender.test>", metadata: {} } } : {}),
  });
}

/** Writes many `email.delivered` events at once, from the servers of `sites` sites. */
async function manyEvents(workspaceId: string, count: number, sites = 3): Promise<void> {
  await database.sql`
    with bump as (update event_counters set last = last + ${count} where workspace_id = ${workspaceId} returning last - ${count} as base)
    insert into events (workspace_id, number, id, type, payload, created_at)
    select ${workspaceId}, base + n, gen_random_uuid(), 'email.delivered',
      jsonb_build_object('recipients', '["a@there.test"]'::jsonb, 'remoteMx', 'mx.site' || n % ${sites} || '.test'), clock_timestamp()
    from bump, generate_series(1, ${count}::int) n`;
}

test("emails and events are counted by type, in total and by site, with delivery times", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const other = await makeWorkspace(sql);
  const store = createEmailStore(sql);
  const email = newEmail(workspaceId, ["a@there.test", "b@there.test"]);
  const later = newEmail(workspaceId, ["c@there.test"], { scheduledAt: new Date(Date.now() + hourMs) });
  for (const one of [email, later, newEmail(other, ["x@there.test"])]) await store.accept(one);
  await sql`update emails set created_at = now() - interval '10 hours' where workspace_id = ${workspaceId}`;
  await sql`update emails set scheduled_at = now() - interval '1 hour' where id = ${later.id}`;
  const google = { mx: "alt1.aspmx.l.google.com" };
  await event(workspaceId, "email.delivered", { ...google, emailId: email.id });
  await event(workspaceId, "email.delivered", { ...google, emailId: later.id });
  await event(workspaceId, "email.sent", { mx: "relay.example.net", emailId: email.id });
  for (const type of ["bounced", "delayed"]) await event(workspaceId, `email.${type}`, google);
  for (const type of ["complained", "suppressed", "failed", "canceled", "replied"])
    await event(workspaceId, `email.${type}`);
  await event(workspaceId, "domain.updated");
  await foldAll();

  const { times, ...counts } = await totals(workspaceId);
  const one: CountName[] = ["sent", "bounced", "delayed", "complained", "suppressed", "failed", "canceled"];
  const { times: _, ...none } = noCounts();
  assert.deepEqual(counts, {
    ...none,
    emails: 2,
    accepted: 3,
    delivered: 2,
    ...Object.fromEntries(one.map((name) => [name, 1])),
  });
  for (const [share, exact] of [
    [0.3, hourMs],
    [0.9, 10 * hourMs],
  ] as const)
    assert.ok(Math.abs(quantile(times, share)! / exact - 1) < 0.42, `${quantile(times, share)} for ${exact}`);
  const sites = await statsBySite(sql, span(workspaceId));
  assert.deepEqual([...sites.keys()].sort(), ["example.net", "google.com"]);
  const { delivered, bounced, delayed } = sites.get("google.com")!;
  assert.deepEqual([delivered, bounced, delayed], [2, 1, 1]);
  assert.equal((await totals(other)).accepted, 1, "workspaces are counted separately");
});

test("a fold that is killed before its end counts nothing, and the next one counts everything once", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  await createEmailStore(sql).accept(newEmail(workspaceId, ["a@there.test"]));
  await manyEvents(workspaceId, 300);
  for (let round = 0; round < 3; round++) {
    const release = Promise.withResolvers<void>();
    const lock = sql.begin(async (tx) => {
      await tx`lock table stats in share mode`;
      await release.promise;
    });
    const fold = foldStats(sql, limits({ rows: 100 })).then(
      () => "counted",
      () => "killed",
    );
    const blocked = await until("a fold at its last statement", async () => {
      const rows = await sql<{ pid: number }[]>`
        select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query ~ 'insert into stats '`;
      return rows[0];
    });
    await sql`select pg_terminate_backend(${blocked.pid})`;
    assert.equal(await fold, "killed");
    // The error arrives before the session has released its locks.
    await until("the killed session to end", async () => {
      const rows = await sql`select 1 from pg_stat_activity where pid = ${blocked.pid}`;
      return rows.length === 0;
    });
    release.resolve();
    await lock;
    assert.equal((await totals(workspaceId)).delivered, round * 100, "the killed fold left nothing");
    await foldStats(sql, limits({ rows: 100 }));
    assert.equal((await totals(workspaceId)).delivered, (round + 1) * 100);
  }
  await foldAll();
  const { delivered, emails } = await totals(workspaceId);
  assert.deepEqual([delivered, emails], [300, 1]);
});

test("several nodes that count while mail is written miss nothing and count nothing twice", async () => {
  const { sql } = database;
  const workspaces = await Promise.all([1, 2, 3].map(() => makeWorkspace(sql)));
  const store = createEmailStore(sql);
  let writing = true;
  const writers = workspaces.map(async (workspaceId, index) => {
    for (let i = 0; i < 40; i++) {
      await manyEvents(workspaceId, 7 + index, 40);
      await store.accept(newEmail(workspaceId, ["a@there.test", "b@there.test"]));
    }
  });
  const nodes = [1, 2].map(async () => {
    while (writing) await foldStats(sql, limits({ workspaces: 2, rows: 20 }));
  });
  await Promise.all(writers);
  writing = false;
  await Promise.all(nodes);
  await foldAll({ rows: 20 });
  for (const [index, workspaceId] of workspaces.entries()) {
    const { delivered, emails, accepted } = await totals(workspaceId);
    // With the clock ahead, ids are counted while emails with smaller ids are not committed yet. The recount finds those.
    await foldAll({ nowMs: Date.now() + 3 * hourMs });
    const recounted = await totals(workspaceId);
    assert.equal(delivered, 40 * (7 + index));
    assert.ok(emails <= 40 && accepted === 2 * emails);
    assert.deepEqual([recounted.delivered, recounted.emails, recounted.accepted], [delivered, 40, 80]);
    const sites = [...(await statsBySite(sql, span(workspaceId)))];
    assert.equal(
      sites.reduce((sum, [, counts]) => sum + counts.delivered, 0),
      delivered,
      "the sum over all sites",
    );
    const hours = await sql<{ count: number }[]>`
      select count(*)::int from stats where workspace_id = ${workspaceId} and site not in ('', ${otherSites}) group by hour`;
    assert.ok(hours.every(({ count }) => count <= 20));
  }
});

test("an email that was committed long after its id was made is found when its hour is recounted", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const store = createEmailStore(sql);
  const at = Math.floor(Date.now() / hourMs) * hourMs - 3 * hourMs;
  await store.accept(newEmail(workspaceId, ["a@there.test"], { id: makeUuid(at + 50_000) }));
  await foldAll({ nowMs: at + 60_000 });
  await store.accept(newEmail(workspaceId, ["b@there.test", "c@there.test"], { id: makeUuid(at + 40_000) }));
  await store.accept(newEmail(workspaceId, ["d@there.test"], { id: makeUuid(at + hourMs + 1) }));
  await foldAll({ nowMs: at + hourMs + 60_000, rows: 1 });
  const accepted = async () =>
    [...(await statsByBucket(sql, span(workspaceId), 1))].map(([start, counts]) => [start - at, counts.accepted]);
  assert.deepEqual(await accepted(), [
    [0, 1],
    [hourMs, 1],
  ]);
  for (let i = 0; i < 2; i++) {
    await foldAll({ nowMs: at + 2 * hourMs, rows: 1 });
    assert.deepEqual(await accepted(), [
      [0, 3],
      [hourMs, 1],
    ]);
  }
});

test("the cost of reading statistics does not grow with the mail, and countedUntil stops at uncounted mail", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const cost = async () => {
    const read = async (tx: typeof sql) => {
      await statsByBucket(tx, span(workspaceId), 1);
      await statsBySite(tx, span(workspaceId));
      return await countedUntil(tx, workspaceId, Date.now());
    };
    return await countRowsRead(sql, "^(stats|events|emails|recipients)", read);
  };
  await manyEvents(workspaceId, 20);
  await createEmailStore(sql).accept(newEmail(workspaceId, ["a@there.test"], { id: firstUuidAt(Date.now() - 60_000) }));
  await foldAll();
  const small = await cost();
  await manyEvents(workspaceId, 5000);
  await sql`insert into emails (workspace_id, id, domain_id, domain, from_address, subject, message_id, envelope, open, total, size_bytes, content_day, expires_at)
    select workspace_id, (left(${firstUuidAt(Date.now() - 30_000)}, 24) || lpad(to_hex(n), 12, '0'))::uuid, domain_id, domain, from_address, subject,
      message_id, envelope, open, total, size_bytes, content_day, expires_at from emails, generate_series(1, 5000) n where workspace_id = ${workspaceId}`;
  const waiting = await cost();
  assert.ok(waiting.result < Date.now() - 25_000, "not later than the first uncounted email");
  assert.ok(waiting.rows < small.rows + 200, `${waiting.rows} rows, ${small.rows} with little mail`);
  await foldAll();
  const large = await cost();
  assert.equal((await totals(workspaceId)).delivered, 5020);
  assert.equal((await totals(workspaceId)).emails, 5001);
  // The margin allows for rows that background processes of PostgreSQL read; the mail is 5,000 events and 5,000 emails.
  assert.ok(large.rows < small.rows + 200, `${large.rows} rows, ${small.rows} with little mail`);
  assert.ok(large.result > Date.now() - 10_000);
});

test("hours before the oldest kept emails are deleted", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  await manyEvents(workspaceId, 3);
  await foldAll();
  const oldest = await oldestEmailsAt(sql);
  assert.equal(await forgetStats(sql, oldest), 0);
  await sql`update stats set hour = hour - interval '91 days' where workspace_id = ${workspaceId}`;
  assert.ok((await forgetStats(sql, oldest)) > 0);
  assert.equal((await totals(workspaceId)).delivered, 0);
});
