import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { countRowsRead } from "../../../test/harness/rows-read.ts";
import { createEmailStore, type NewEmail } from "../../emails/store/emails.ts";
import { appendEvent } from "../../events/store.ts";
import { insertKey, makeKeySecret, systemKeyId } from "../../keys/store.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { addCounts, type Counts, noCounts, otherValues } from "../rules.ts";
import { foldStats } from "./fold.ts";
import { forgetGroups, keyNames, statsByValue } from "./groups.ts";
import { updateSettings } from "./settings.ts";
import { statsByBucket, statsBySite } from "./stats.ts";

const hourMs = 3_600_000;
let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database?.drop());

/** With a clock ten seconds ahead, because an email is counted only when its id is a few seconds old. */
async function foldAll(aheadMs = 10_000, rows = 1000): Promise<void> {
  while ((await foldStats(database.sql, { nowMs: Date.now() + aheadMs, workspaces: 50, rows })).behind);
}

const span = (workspaceId: string) => ({
  workspaceId,
  from: new Date(Date.now() - 4 * hourMs),
  to: new Date(Date.now() + hourMs),
});
const values = (workspaceId: string, dimension: string) => statsByValue(database.sql, span(workspaceId), dimension);
const sum = (groups: ReadonlyMap<unknown, Counts>) => [...groups.values()].reduce(addCounts, noCounts());

async function accept(workspaceId: string, extra: Partial<NewEmail> = {}): Promise<NewEmail> {
  const email = newEmail(workspaceId, ["a@there.test"], extra);
  await createEmailStore(database.sql).accept(email);
  return email;
}

async function event(email: NewEmail, type: string, payload: object = {}): Promise<void> {
  await appendEvent(database.sql, {
    id: makeUuid(Date.now()),
    workspaceId: email.workspaceId,
    type,
    payload: { recipients: ["a@there.test"], ...payload },
    email: { id: email.id, messageId: email.messageId, metadata: {} },
  });
}

test("mail is counted by domain, key and the chosen metadata keys, and mail of the service itself not at all", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const [one, two] = [makeUuid(Date.now()), makeUuid(Date.now())];
  await updateSettings(sql, workspaceId, { metadataKeys: ["campaign", "type"] });
  const spring = await accept(workspaceId, { keyId: one, metadata: { campaign: "spring", type: "news", order: "7" } });
  const winter = await accept(workspaceId, { keyId: two, metadata: { campaign: "winter" } });
  const testMail = await accept(workspaceId, { keyId: two, test: true });
  const system = await accept(workspaceId, { keyId: systemKeyId, metadata: { campaign: "spring" } });
  for (const email of [spring, testMail, system]) await event(email, "email.delivered");
  await event(winter, "email.bounced");
  await event(spring, "email.complained");
  await foldAll();
  const named = async (dimension: string) =>
    Object.fromEntries(
      [...(await values(workspaceId, dimension))].map(([value, c]) => [
        value,
        [c.emails, c.delivered, c.bounced, c.complained],
      ]),
    );
  assert.deepEqual(await named("domain"), { "=sender.test": [3, 2, 1, 1] });
  assert.deepEqual(await named("key"), { [`=${one}`]: [1, 1, 0, 1], [`=${two}`]: [2, 1, 1, 0] });
  assert.deepEqual(await named("metadata:campaign"), { "=spring": [1, 1, 0, 1], "=winter": [1, 0, 1, 0] });
  assert.deepEqual(await named("metadata:type"), { "=news": [1, 1, 0, 1] });
  assert.deepEqual(await named("metadata:order"), {}, "not chosen");
  assert.deepEqual(await named("live"), { "=": [2, 1, 1, 1] }, "without test keys");
  const totals = sum(await statsByBucket(sql, span(workspaceId), 1));
  assert.deepEqual([totals.emails, totals.delivered], [3, 2], "the whole workspace");
});

test("a complaint counts at the site of the server that took the mail, and a report that mail is not spam is none", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const email = await accept(workspaceId);
  await sql`update recipients set remote_mx = 'alt1.aspmx.l.google.com', status = 'delivered' where workspace_id = ${workspaceId}`;
  await event(email, "email.complained", { feedbackType: "abuse" });
  await event(email, "email.complained", { feedbackType: "not-spam" });
  await foldAll();
  assert.equal((await statsBySite(sql, span(workspaceId))).get("google.com")?.complained, 1);
  assert.equal((await values(workspaceId, "live")).get("=")?.complained, 1);
});

test("a tenant that sends a new value with each email gets a bounded number of rows, and nothing is lost", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  await updateSettings(sql, workspaceId, { metadataKeys: ["order"] });
  const large = await accept(workspaceId, { metadata: { order: "other" } });
  for (let i = 0; i < 5; i++) await event(large, "email.delivered");
  for (let i = 0; i < 260; i++) {
    const email = await accept(workspaceId, { metadata: { order: i === 0 ? "x".repeat(201) : `o${i}` } });
    await event(email, "email.delivered");
    if (i % 60 === 0) await foldAll(10_000, 50);
  }
  await foldAll(10_000, 50);
  const hours = await sql<{ count: number }[]>`
    select count(*)::int from stats_groups where workspace_id = ${workspaceId} and dimension = 'metadata:order' group by hour`;
  assert.ok(hours.length > 0 && hours.every(({ count }) => count <= 101));
  const found = await values(workspaceId, "metadata:order");
  assert.deepEqual([sum(found).emails, sum(found).delivered], [261, 265]);
  assert.equal(found.get("=other")?.delivered, 5, "a value with the name of the rest is not the rest");
  assert.ok(found.get(otherValues)!.delivered >= 160);
  assert.ok([...found.keys()].every((value) => value.length <= 201));
});

test("the recount of an hour gives the same groups, and finds late emails", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const at = Math.floor(Date.now() / hourMs) * hourMs - 3 * hourMs;
  const email = await accept(workspaceId, { id: makeUuid(at + 50_000) });
  while ((await foldStats(sql, { nowMs: at + 60_000, workspaces: 50, rows: 1 })).behind);
  await event(email, "email.delivered");
  await accept(workspaceId, { id: makeUuid(at + 40_000) });
  for (let i = 0; i < 2; i++) {
    while ((await foldStats(sql, { nowMs: at + 2 * hourMs, workspaces: 50, rows: 1 })).behind);
    const counts = sum(await values(workspaceId, "domain"));
    assert.deepEqual([counts.emails, counts.delivered], [2, 1]);
  }
});

test("a fold writes only the values that changed", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  await updateSettings(sql, workspaceId, { metadataKeys: ["order"] });
  for (let i = 0; i < 60; i++) await accept(workspaceId, { metadata: { order: `o${i}` } });
  await foldAll();
  const versions = () => sql<{ xmin: string; value: string }[]>`
    select xmin::text, value from stats_groups where workspace_id = ${workspaceId} and dimension = 'metadata:order'`;
  const before = new Map((await versions()).map(({ value, xmin }) => [value, xmin]));
  await accept(workspaceId, { metadata: { order: "o7" } });
  await foldAll();
  const changed = (await versions()).filter(({ value, xmin }) => before.get(value) !== xmin);
  assert.deepEqual(
    changed.map(({ value }) => value),
    ["=o7"],
  );
});

test("reading a dimension costs as many rows as it has, and old hours are deleted", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  await sql`
    insert into stats_groups select ${workspaceId}, d, date_trunc('hour', now()) - h * interval '1 hour', '=' || v, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0
    from unnest('{domain,key,live}'::text[]) d, generate_series(0, 99) h, generate_series(1, 20) v`;
  await sql`analyze stats_groups`;
  const wide = { ...span(workspaceId), from: new Date(Date.now() - 10 * hourMs) };
  const { rows, result } = await countRowsRead(sql, "^stats_groups", (tx) => statsByValue(tx, wide, "key"));
  assert.deepEqual([result.size, result.get("=1")?.delivered], [20, 10]);
  assert.ok(rows < 400, `${rows} rows for 200`);
  const before = new Date(Date.now() - 50 * hourMs);
  assert.ok((await forgetGroups(sql, before)) >= 49 * 60);
  assert.equal(await forgetGroups(sql, before), 0);
});

test("keys have their names, those of other workspaces do not", async () => {
  const { sql } = database;
  const [workspaceId, other] = [await makeWorkspace(sql), await makeWorkspace(sql)];
  const id = makeUuid(Date.now());
  const { secret } = makeKeySecret(false);
  await insertKey(sql, { id, workspaceId, name: "Shop", secret, permission: "send", test: false });
  assert.deepEqual([...(await keyNames(sql, workspaceId, [id]))], [[id, "Shop"]]);
  assert.equal((await keyNames(sql, other, [id])).size, 0);
});
