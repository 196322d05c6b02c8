/** Lists of emails of several weeks, each with partitions of its own, also while retention drops one of them. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { runBatch } from "../../postgres/backfill.ts";
import { makeUuid, uuidTime } from "../../postgres/ids.ts";
import { partitionAt } from "../../postgres/partitions.ts";
import { weekAt, weekMs } from "../../postgres/weeks.ts";
import { storeBatch } from "./batches.ts";
import { type EmailFilter, listEmails, readFound } from "./list.ts";
import { outcomesOfEarlierEmails } from "./outcome-backfills.ts";
import { sitesOfEarlierEmails } from "./sites.ts";
import { indexArrivals, termsOfEarlierEmails } from "./terms.ts";

const tables = ["emails", "recipients", "email_terms", "email_message_ids"] as const;
/** Counted from this one, with those after a clock that jumped by 400 days. */
const weeks = [-60, -5, -4, -3, -2, -1, 0, 1, 57];
const destination = "there.test";
const startOf = (week: number) => weekAt(Date.now()) + week * weekMs;

let database: TestDatabase;
let workspaceId: string;
/** Newest first. */
let ids: string[];
before(async () => {
  database = await createTestDatabase();
  const { sql } = database;
  for (const backfill of [outcomesOfEarlierEmails, termsOfEarlierEmails, sitesOfEarlierEmails])
    assert.equal((await runBatch(sql, backfill, 500)).kind, "finished");
  for (const week of weeks)
    for (const table of tables) {
      const { name, from, to } = partitionAt(table, startOf(week));
      await sql.unsafe(
        `create table if not exists ${name} partition of ${table} for values from ('${from}') to ('${to}')`,
      );
    }
  workspaceId = await makeWorkspace(sql);
  // The first and the last milliseconds of each week.
  const times = weeks.flatMap((week) => [0, 1, weekMs / 2, weekMs - 1].map((ms) => startOf(week) + ms));
  const emails = times.map((ms) =>
    newEmail(workspaceId, [`ann@${destination}`, "bob@other.test"], {
      id: makeUuid(ms),
      metadata: { order: "1" },
      subject: "Weekly",
    }),
  );
  await storeBatch(sql, { workspaceId, emails, answer: [], idempotency: undefined });
  ids = emails.map(({ id }) => id).reverse();
});
after(async () => await database.drop());

async function page(filter: Partial<EmailFilter>): Promise<string[]> {
  const found: string[] = [];
  for (let before: string | undefined; ; ) {
    const { rows, resumeBefore } = await listEmails(database.sql, { workspaceId, limit: 3, before, ...filter });
    found.push(...rows.map(({ id }) => id));
    before = resumeBefore ?? (rows.length === 3 ? rows.at(-1)!.id : undefined);
    if (before === undefined) return found;
  }
}

const filters: Partial<EmailFilter>[] = [
  {},
  { mostCandidates: 2 },
  { limit: 50 },
  { recipient: `ann@${destination}` },
  { destination, open: true },
  { outcomes: ["queued"] },
  { status: "queued", mostCandidates: 5 },
  { metadataKey: "order", metadataValue: "1" },
];

test("a list has the emails of all weeks, whatever it is filtered by", async () => {
  for (const indexed of [false, true]) {
    if (indexed)
      while ((await indexArrivals(database.sql, { after: undefined, workspaces: 9, arrivals: 9 })).emails > 0);
    for (const filter of filters) assert.deepEqual(await page(filter), ids, JSON.stringify(filter));
  }
  const [from, to] = [-4, 57].map((week) => new Date(startOf(week)));
  const inRange = ids.filter((id) => uuidTime(id) >= from!.getTime() && uuidTime(id) < to!.getTime());
  assert.deepEqual(await page({ createdAfter: from, createdBefore: to }), inRange);
  const { rows, isCut } = await readFound(database.sql, { workspaceId, outcomes: ["queued"] }, 1000);
  assert.deepEqual([rows, isCut], [[{ outcome: "queued", emails: ids.length }], false]);
});

test("a list leaves out the emails of a dropped week that its index still has", async () => {
  const { sql } = database;
  const gone = ids.filter((id) => weekAt(uuidTime(id)) === startOf(-1));
  const left = ids.filter((id) => !gone.includes(id));
  assert.equal(gone.length, 4);
  for (const table of ["recipients", "emails"] as const) {
    await sql.unsafe(`drop table ${partitionAt(table, startOf(-1)).name}`);
    // Without its recipients, an email is still listed by its own columns.
    if (table === "emails")
      for (const filter of filters) assert.deepEqual(await page(filter), left, JSON.stringify(filter));
    else assert.deepEqual(await page({}), ids);
  }
  const { rows } = await readFound(sql, { workspaceId, outcomes: ["queued"] }, 1000);
  assert.deepEqual(rows, [{ outcome: "queued", emails: left.length }]);
});
