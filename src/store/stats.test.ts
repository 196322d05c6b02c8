import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../test/harness/mail.ts";
import { countRowsRead } from "../../test/harness/rows-read.ts";
import { until } from "../../test/harness/wait.ts";
import { addCounts, type CountName, noCounts, otherSites } from "../rules/stats.ts";
import { quantile } from "../rules/stats-times.ts";
import { createEmailStore } from "./emails.ts";
import { appendEvent } from "./events.ts";
import { firstUuidAt, makeUuid } from "./ids.ts";
import { countedUntil, forgetStats, statsByBucket, statsBySite } from "./stats.ts";
import { foldStats } from "./stats-fold.ts";

const hourMs = 3_600_000;
let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

/** As if it were ten seconds later: emails are counted when their ids are that old. */
const limits = (extra: { workspaces?: number; rows?: number; nowMs?: number } = {}) => ({
  ...{ nowMs: Date.now() + 10_000, workspaces: 50, rows: 1000 },
  ...extra,
});

async function foldAll(extra: Parameters<typeof limits>[0] = {}): Promise<void> {
  while ((await foldStats(database.sql, limits(extra))).behind);
}

const span = (workspaceId: string) => ({
  ...{ workspaceId, from: new Date(Date.now() - 48 * hourMs), to: new Date(Date.now() + hourMs) },
});

async function totals(workspaceId: string) {
  const buckets = await statsByBucket(database.sql, span(workspaceId), 1);
  return [...buckets.values()].reduce(addCounts, noCounts());
}

async function event(workspaceId: string, type: string, extra: { mx?: string; emailId?: string } = {}): Promise<void> {
  await appendEvent(database.sql, {
    ...{ id: makeUuid(Date.now()), workspaceId, type },
    payload: { recipients: ["a@there.test"], ...(extra.mx === undefined ? {} : { remoteMx: extra.mx }) },
    ...(extra.emailId ? { email: { id: extra.emailId, messageId: "<x@sender.test>", metadata: {} } } : {}),
  });
}

/** Many events of one kind at once, from servers of so many sites. */
async function manyEvents(workspaceId: string, count: number, sites = 3): Promise<void> {
  await database.sql`
    with bump as (update event_counters set last = last + ${count} where workspace_id = ${workspaceId} returning last - ${count} as base)
    insert into events (workspace_id, number, id, type, payload, created_at)
    select ${workspaceId}, base + n, gen_random_uuid(), 'email.delivered',
      jsonb_build_object('recipients', '["a@there.test"]'::jsonb, 'remoteMx', 'mx.site' || n % ${sites} || '.test'), clock_timestamp()
    from bump, generate_series(1, ${count}::int) n`;
}

test("emails and events are counted by their kind, in all and by site, with the time that deliveries took", async () => {
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
    ...{ emails: 2, accepted: 3, delivered: 2 },
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
  assert.equal((await totals(other)).accepted, 1, "each workspace by itself");
});

test("a fold that is killed before its end has counted nothing, and the next one counts everything once", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  await createEmailStore(sql).accept(newEmail(workspaceId, ["a@there.test"]));
  await manyEvents(workspaceId, 300);
  for (let round = 0; round < 3; round++) {
    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const lock = sql.begin(async (tx) => {
      await tx`lock table stats in share mode`;
      await held;
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
    letGo();
    await lock;
    assert.equal((await totals(workspaceId)).delivered, round * 100, "nothing of it is left");
    await foldStats(sql, limits({ rows: 100 }));
    assert.equal((await totals(workspaceId)).delivered, (round + 1) * 100);
  }
  await foldAll();
  const { delivered, emails } = await totals(workspaceId);
  assert.deepEqual([delivered, emails], [300, 1]);
});

test("nodes that count together, while mail is written, miss nothing and count nothing twice", async () => {
  const { sql } = database;
  const workspaces = await Promise.all([1, 2, 3].map(() => makeWorkspace(sql)));
  const store = createEmailStore(sql);
  let writing = true;
  const writers = workspaces.map(async (workspaceId, place) => {
    for (let i = 0; i < 40; i++) {
      await manyEvents(workspaceId, 7 + place, 40);
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
  for (const [place, workspaceId] of workspaces.entries()) {
    const { delivered, emails, accepted } = await totals(workspaceId);
    // Ids ahead of the clock are counted while emails before them may still be on their way: what was passed over is counted anew.
    await foldAll({ nowMs: Date.now() + 3 * hourMs });
    const anew = await totals(workspaceId);
    assert.equal(delivered, 40 * (7 + place));
    assert.ok(emails <= 40 && accepted === 2 * emails);
    assert.deepEqual([anew.delivered, anew.emails, anew.accepted], [delivered, 40, 80]);
    const sites = [...(await statsBySite(sql, span(workspaceId)))];
    assert.equal(
      sites.reduce((sum, [, counts]) => sum + counts.delivered, 0),
      delivered,
      "the sites together",
    );
    const hours = await sql<{ count: number }[]>`
      select count(*)::int from stats where workspace_id = ${workspaceId} and site not in ('', ${otherSites}) group by hour`;
    assert.ok(hours.every(({ count }) => count <= 20));
  }
});

test("an email that was committed long after its id was made is found when its hour is counted anew", async () => {
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

test("what the figures cost does not grow with the mail in them, and how far they go is told", async () => {
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
  assert.ok(waiting.result < Date.now() - 25_000, "not beyond the first email that waits to be counted");
  assert.ok(waiting.rows < small.rows + 200, `${waiting.rows} rows, ${small.rows} with little mail`);
  await foldAll();
  const large = await cost();
  assert.equal((await totals(workspaceId)).delivered, 5020);
  assert.equal((await totals(workspaceId)).emails, 5001);
  // What the server reads by itself meanwhile counts too; the mail is 5,000 events and as many emails.
  assert.ok(large.rows < small.rows + 200, `${large.rows} rows, ${small.rows} with little mail`);
  assert.ok(large.result > Date.now() - 10_000);
});

test("hours go when their time is over", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  await manyEvents(workspaceId, 3);
  await foldAll();
  assert.equal(await forgetStats(sql, 90), 0);
  await sql`update stats set hour = hour - interval '91 days' where workspace_id = ${workspaceId}`;
  assert.ok((await forgetStats(sql, 90)) > 0);
  assert.equal((await totals(workspaceId)).delivered, 0);
});
