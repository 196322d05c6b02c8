/** The fold indexes emails by the sites at which it counts their events, in the same transaction. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { siteTerm } from "../../emails/rules/terms.ts";
import { createEmailStore, type NewEmail } from "../../emails/store/emails.ts";
import { appendEvent } from "../../events/store.ts";
import { systemKeyId } from "../../keys/store.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { createPartitions, partitionOf } from "../../postgres/partitions.ts";
import { foldStats } from "./fold.ts";
import { statsBySite } from "./stats.ts";

const hourMs = 3_600_000;
let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

const limits = () => ({ nowMs: Date.now() + 10_000, workspaces: 50, rows: 1000 });

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

const indexed = async (workspaceId: string, site: string) =>
  (
    await database.sql<{ id: string }[]>`
      select email_id as id from email_terms where workspace_id = ${workspaceId} and term = ${String(siteTerm(site))}`
  ).map(({ id }) => id);

const sites = (workspaceId: string) =>
  statsBySite(database.sql, {
    workspaceId,
    from: new Date(Date.now() - hourMs),
    to: new Date(Date.now() + hourMs),
  });

test("emails are found by the sites at which their events count, and by no other", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const google = { remoteMx: "alt1.aspmx.l.google.com" };
  const counted: NewEmail[] = [];
  for (const type of ["delivered", "sent", "bounced", "delayed", "failed"]) {
    counted.push(await accept(workspaceId));
    for (let n = 0; n < 2; n++) await event(counted.at(-1)!, `email.${type}`, google);
  }
  const complained = await accept(workspaceId);
  await sql`update recipients set remote_mx = ${google.remoteMx} where email_id = ${complained.id}`;
  await event(complained, "email.complained");
  const others = [await accept(workspaceId), await accept(workspaceId), await accept(workspaceId)];
  await sql`update recipients set remote_mx = ${google.remoteMx} where email_id = ${others[0]!.id}`;
  await event(others[0]!, "email.complained", { feedbackType: "not-spam" });
  await event(others[1]!, "email.replied", google);
  await event(others[2]!, "email.delivered", { remoteMx: "" });
  await event(await accept(workspaceId, { keyId: systemKeyId }), "email.delivered", google);
  const both = await accept(workspaceId);
  await event(both, "email.delayed", { remoteMx: "mx1.receiver.test" });
  await event(both, "email.delivered", google);
  while ((await foldStats(sql, limits())).behind);
  const expected = [...counted, complained, both].map(({ id }) => id);
  assert.deepEqual((await indexed(workspaceId, "google.com")).sort(), expected.sort());
  assert.deepEqual(await indexed(workspaceId, "receiver.test"), [both.id]);
  assert.deepEqual([...(await sites(workspaceId)).keys()].sort(), ["google.com", "receiver.test"]);
});

test("a fold that fails before its end indexes nothing, and the next one indexes everything", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const email = await accept(workspaceId);
  await event(email, "email.delivered", { remoteMx: "mx1.receiver.test" });
  // The last statement of the fold fails.
  await sql`alter table stats add constraint broken check (site <> 'receiver.test') not valid`;
  await assert.rejects(foldStats(sql, limits()), /broken/);
  assert.deepEqual(await indexed(workspaceId, "receiver.test"), []);
  await sql`alter table stats drop constraint broken`;
  while ((await foldStats(sql, limits())).behind);
  assert.deepEqual(await indexed(workspaceId, "receiver.test"), [email.id]);
});

test("events of emails that are deleted or whose partition of the index does not exist are counted all the same", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const oldMs = Date.now() - 200 * 24 * hourMs;
  await createPartitions(sql, oldMs);
  const old = await accept(workspaceId, { id: makeUuid(oldMs) });
  const deleted = await accept(workspaceId);
  const recent = await accept(workspaceId);
  for (const email of [old, deleted, recent]) await event(email, "email.delivered", { remoteMx: "mx1.receiver.test" });
  await sql`delete from emails where id = ${deleted.id}`;
  await sql.unsafe(`drop table ${partitionOf("email_terms", oldMs).name}`);
  while ((await foldStats(sql, limits())).behind);
  assert.equal((await sites(workspaceId)).get("receiver.test")?.delivered, 3);
  assert.deepEqual(await indexed(workspaceId, "receiver.test"), [recent.id]);
});
