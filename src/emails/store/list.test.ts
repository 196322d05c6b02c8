/** Lists of emails: what each filter finds, and that it reads rows in proportion to the page, also where matches are old and rare. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail, randomWord } from "../../../test/harness/mail.ts";
import { countRowsRead } from "../../../test/harness/rows-read.ts";
import { reopenBackfills, runBatch } from "../../postgres/backfill.ts";
import { makeUuid } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { parseSearch } from "../rules/terms.ts";
import { storeBatch } from "./batches.ts";
import type { NewEmail } from "./emails.ts";
import { type EmailFilter, listEmails } from "./list.ts";
import { outcomesOfEarlierEmails } from "./outcome-backfills.ts";
import { cancelEmail } from "./reads.ts";
import { indexSites, sitesOfEarlierEmails } from "./sites.ts";
import { indexArrivals, termsOfEarlierEmails } from "./terms.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
  // As housekeeping does right after the first start.
  for (const backfill of [outcomesOfEarlierEmails, termsOfEarlierEmails, sitesOfEarlierEmails])
    assert.equal((await runBatch(database.sql, backfill, 500)).kind, "finished");
  await keepStatistics(database.sql);
});
after(async () => await database.drop());

/** Statistics change when a test analyzes the tables, and not in the middle of it. */
async function keepStatistics(sql: Sql): Promise<void> {
  const tables = await sql<{ name: string }[]>`
    select relname as name from pg_class where relkind = 'r' and relname ~ '^(emails|email_terms|recipients)_p|^email_(outcomes|arrivals)$'`;
  assert.ok(tables.length > 5);
  for (const { name } of tables) await sql.unsafe(`alter table ${name} set (autovacuum_enabled = off)`);
}

async function store(workspaceId: string, ...emails: NewEmail[]): Promise<void> {
  await storeBatch(database.sql, { workspaceId, emails, answer: [], idempotency: undefined });
}

async function setServer(workspaceId: string, address: string, host: string): Promise<void> {
  await database.sql`update recipients set remote_mx = ${host} where workspace_id = ${workspaceId} and address = ${address}`;
}

async function indexAll(sql: Sql): Promise<void> {
  while ((await indexArrivals(sql, { after: undefined, workspaces: 10, arrivals: 10 })).emails > 0);
}

test("each filter finds only its emails, newest first, and a page starts where the previous one ended", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const other = await makeWorkspace(sql);
  const id = (n: number) => makeUuid(Date.now() - 1000 + n);
  const first = newEmail(workspaceId, ["Ann@there.test"], {
    id: id(1),
    subject: "Your order 100%",
    metadata: { order: "1" },
  });
  const second = newEmail(workspaceId, ["bob@there.test", "ann@there.test"], {
    id: id(2),
    metadata: { order: "2", vip: "yes" },
  });
  const third = newEmail(workspaceId, ["cid@there.test"], { id: id(3), subject: "Your order 1000" });
  for (const email of [first, second, third]) await store(workspaceId, email);
  await setServer(workspaceId, "Ann@there.test", "MX1.Receiver.test.");
  await setServer(workspaceId, "bob@there.test", "x.mail.protection.outlook.com");
  await setServer(workspaceId, "cid@there.test", "outlook.com");
  const sites = ["receiver.test", "mail.protection.outlook.com", "outlook.com"];
  // As the statistics do. The second email is in the index for a site that none of its recipients went to last.
  const atSites = [first, second, third].map(({ id }, n) => ({ workspaceId, id, site: sites[n]! }));
  await sql.begin((tx) => indexSites(tx, [...atSites, { workspaceId, id: second.id, site: "receiver.test" }]));
  await store(other, newEmail(other, ["ann@there.test"]));
  for (const indexed of [false, true]) {
    if (indexed) await indexAll(sql);
    const found = async (filter: Partial<EmailFilter>) => {
      const { rows } = await listEmails(sql, { workspaceId, limit: 10, ...filter });
      return rows.map(({ id }) => [first, second, third].findIndex((email) => email.id === id) + 1);
    };
    assert.deepEqual(await found({}), [3, 2, 1]);
    assert.deepEqual(await found({ limit: 1, before: third.id }), [2]);
    assert.deepEqual(await found({ recipient: "ANN@there.test" }), [2, 1]);
    assert.deepEqual(await found({ destination: "there.test" }), [3, 2, 1]);
    assert.deepEqual(await found({ destination: "there.test", open: true, limit: 2 }), [3, 2]);
    assert.deepEqual(await found({ destination: "here.test" }), []);
    assert.deepEqual(await found({ destination: "there.tes" }), []);
    assert.deepEqual(await found({ open: true }), [3, 2, 1]);
    assert.deepEqual(await found({ site: "receiver.test" }), [1]);
    assert.deepEqual(await found({ site: "outlook.com" }), [3], "other sites below the same domain do not count");
    assert.deepEqual(await found({ site: "mail.protection.outlook.com", recipient: "ann@there.test" }), [2]);
    assert.deepEqual(await found({ site: "receiver.test", outcomes: ["queued"] }), [1]);
    assert.deepEqual(await found({ site: "receiver.test", search: { words: parseSearch("order") } }), [1]);
    assert.deepEqual(await found({ site: "test" }), []);
    assert.deepEqual(await found({ metadataKey: "order" }), [2, 1]);
    assert.deepEqual(await found({ metadataKey: "order", metadataValue: "2" }), [2]);
    assert.deepEqual(await found({ status: "sent" }), []);
    assert.deepEqual(await found({ status: "queued", domain: first.domain }), [3, 2, 1]);
    assert.deepEqual(await found({ search: { words: parseSearch("order 100%") } }), [1]);
    assert.deepEqual(await found({ search: { words: parseSearch("bob@the") } }), [2]);
    assert.deepEqual(await found({ search: { emailId: second.id, words: [] } }), [2]);
    assert.deepEqual(await found({ createdAfter: new Date(Date.now() + 60_000) }), []);
    assert.deepEqual(await found({ createdBefore: new Date(0) }), []);
    assert.deepEqual(
      await found({ createdAfter: new Date(0), createdBefore: new Date(Date.now() + 60_000) }),
      [3, 2, 1],
    );
  }
});

/** Indexes the sites of all emails, as the backfill does after an upgrade. */
async function finishSites(sql: Sql): Promise<void> {
  await reopenBackfills(sql, sitesOfEarlierEmails.since - 1);
  while ((await runBatch(sql, sitesOfEarlierEmails, 500)).kind === "worked");
}

const many = 6000;
const pageSize = 20;

test("each filter, alone or with a time range, reads rows in proportion to the page", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  await sql`insert into domains (workspace_id, id, domain, token, mail_from_label, region, status, can_send, next_check_at)
    values (${workspaceId}, ${makeUuid(Date.now())}, 'rare.test', ${randomWord()}, 'bounce', 'test', 'ready', true, 'infinity')`;
  const keys = { rare: makeUuid(Date.now()), usual: makeUuid(Date.now()) };
  const dayMs = 86_400_000;
  const start = Date.now() - 3 * dayMs;
  const rare = Array.from({ length: 2 * pageSize }, (_, n) =>
    newEmail(workspaceId, [`Zoe.${n}@unusual.test`], {
      id: makeUuid(start + n),
      keyId: keys.rare,
      domain: "rare.test",
      subject: `Peculiar news ${n}`,
      metadata: { campaign: "odd" },
    }),
  );
  await store(workspaceId, ...rare);
  for (const { id } of rare) await cancelEmail(sql, { workspaceId, id, eventId: makeUuid(Date.now()) });
  for (let stored = 0; stored < many; stored += 500) {
    const emails = Array.from({ length: 500 }, (_, n) =>
      newEmail(workspaceId, [`u${stored + n}@there.test`], {
        id: makeUuid(start + dayMs + stored + n),
        keyId: keys.usual,
        subject: "Usual news",
        metadata: { campaign: "even" },
      }),
    );
    await store(workspaceId, ...emails);
  }
  await indexAll(sql);
  await sql`update recipients set remote_mx = case destination when 'unusual.test' then 'mx.odd.test' else 'mx.even.test' end
    where workspace_id = ${workspaceId}`;
  await finishSites(sql);

  const filters: Record<string, Partial<EmailFilter>> = {
    outcome: { outcomes: ["canceled"] },
    key: { keyId: keys.rare },
    domain: { domain: "rare.test" },
    "metadata entry": { metadataKey: "campaign", metadataValue: "odd" },
    "word of the subject": { search: { words: parseSearch("peculiar") } },
    "words of which one is frequent": { search: { words: parseSearch("peculiar news") } },
    "frequent word first": { search: { words: parseSearch("news peculiar") } },
    "beginning of an address": { search: { words: parseSearch("zoe.") } },
    "beginning of an address's domain": { search: { words: parseSearch("@unus") } },
    recipient: { recipient: rare[7]!.recipients[0]!.address },
    destination: { destination: "unusual.test" },
    site: { site: "odd.test" },
    "site with few emails and an outcome": { site: "odd.test", outcomes: ["canceled", "queued"] },
  };
  const range = { createdAfter: new Date(start - 1000), createdBefore: new Date(start + dayMs / 2) };
  for (const hasStatistics of [false, true]) {
    if (hasStatistics) await sql`analyze`;
    for (const [name, filter] of Object.entries(filters)) {
      const wanted = name === "recipient" ? 1 : pageSize;
      for (const time of [{}, range]) {
        const { result, rows } = await countRowsRead(
          sql,
          "^(emails|email_terms|recipients)_p|^email_(outcomes|arrivals)",
          (tx) => listEmails(tx, { workspaceId, limit: pageSize, ...filter, ...time }),
        );
        assert.equal(result.rows.length, wanted, name);
        assert.ok(
          result.rows.every((row) => row.domain === "rare.test"),
          name,
        );
        assert.ok(rows < 40 * pageSize, `${name}: a page of ${pageSize} read ${rows} rows`);
      }
    }
    for (const [destination, wanted] of [
      ["unusual.test", 0],
      ["there.test", pageSize],
    ] as const) {
      const { result, rows } = await countRowsRead(sql, "^(emails|email_terms|recipients)_p", (tx) =>
        listEmails(tx, { workspaceId, limit: pageSize, destination, open: true }),
      );
      assert.equal(result.rows.length, wanted, destination);
      assert.ok(rows < 60 * pageSize, `open at ${destination}: a page of ${pageSize} read ${rows} rows`);
    }
    const atLarge = { site: "even.test", outcomes: ["canceled"] as const };
    const none = await countRowsRead(sql, "^(emails|email_terms|recipients)_p|^email_outcomes", (tx) =>
      listEmails(tx, { workspaceId, limit: pageSize, ...atLarge }),
    );
    assert.deepEqual(none.result, { rows: [], resumeBefore: undefined }, "the outcome is rarer than the site");
    assert.ok(none.rows < 20 * pageSize, `a site and a rare outcome: a page of ${pageSize} read ${none.rows} rows`);
    const { result, rows } = await countRowsRead(sql, "^(emails|recipients)_p", (tx) =>
      listEmails(tx, { workspaceId, limit: pageSize, ...range }),
    );
    assert.equal(result.rows.length, pageSize);
    assert.ok(rows < 20 * pageSize, `a time range: a page of ${pageSize} read ${rows} rows`);
  }
});

test("pages of a time have the emails of that time, also those of early programs whose ids have another one", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const keyId = makeUuid(Date.now());
  const dayMs = 86_400_000;
  const middle = Date.now() - 2 * dayMs;
  const at = (ms: number) => newEmail(workspaceId, ["a@there.test"], { id: makeUuid(middle + ms), keyId });
  // More than a page on both sides, within the minutes by which times may differ.
  const before = Array.from({ length: 3 * pageSize }, (_, n) => at(-1 - n));
  const after = Array.from({ length: 5 * pageSize }, (_, n) => at(n));
  const [early, late] = [at(60_000), at(-60_000)];
  await store(workspaceId, ...before, ...after, early, late);
  const setTime = (email: NewEmail, ms: number) =>
    sql`update emails set created_at = ${new Date(middle + ms)} where workspace_id = ${workspaceId} and id = ${email.id}`;
  await setTime(early, -60_000);
  await setTime(late, 60_000);
  const idsOf = (emails: NewEmail[]) =>
    emails
      .map(({ id }) => id)
      .sort()
      .reverse();
  for (const index of [{}, { keyId }, { domain: "sender.test" }]) {
    const all = async (time: Partial<EmailFilter>) => {
      const ids: string[] = [];
      let resume: string | undefined;
      do {
        const page = await listEmails(sql, { workspaceId, limit: pageSize, ...index, ...time, before: resume });
        ids.push(...page.rows.map(({ id }) => id));
        resume = page.resumeBefore ?? (page.rows.length === pageSize ? page.rows.at(-1)!.id : undefined);
      } while (resume);
      return ids;
    };
    assert.deepEqual(await all({ createdBefore: new Date(middle) }), idsOf([...before, early]));
    assert.deepEqual(await all({ createdAfter: new Date(middle) }), idsOf([...after, late]));
  }
});

test("filters that together match nothing end a call after a bounded number of emails, and a token resumes the list", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const wanted = newEmail(workspaceId, ["old@there.test"], { metadata: { campaign: "odd" } });
  await store(workspaceId, wanted);
  for (let stored = 0; stored < 1000; stored += 500)
    await store(workspaceId, ...Array.from({ length: 500 }, () => newEmail(workspaceId, ["a@there.test"])));
  let calls = 0;
  const found: string[] = [];
  for (let before: string | undefined; calls === 0 || before !== undefined; calls++) {
    const page = { workspaceId, limit: 10, before, metadataKey: "campaign" };
    const { result, rows } = await countRowsRead(sql, "^(emails|recipients)_p", (tx) => listEmails(tx, page));
    // Each of 200 candidates is read from two indexes and the table.
    assert.ok(rows <= 3 * 200, `a call read ${rows} rows`);
    found.push(...result.rows.map(({ id }) => id));
    before = result.resumeBefore;
  }
  assert.deepEqual(found, [wanted.id]);
  assert.equal(calls, 6);
});
