import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { createEmailStore, type NewEmail } from "../../emails/store/emails.ts";
import { systemKeyId } from "../../keys/store.ts";
import { resumptionNotice, suspensionNotice, warningNotice } from "../notice-text.ts";
import type { BrakeMode } from "../rules/brake.ts";
import { findOffenders, foldOutcomes, markHandled, warn } from "./brakes.ts";
import { resume, suspend } from "./standing.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

const limits = { workspaces: 50, events: 500, restMs: 0, systemKeyId };

async function foldAll(): Promise<void> {
  while (await foldOutcomes(database.sql, limits));
}

async function makeEmail(workspaceId: string, extra: Partial<NewEmail> = {}): Promise<string> {
  const email = newEmail(workspaceId, ["a@there.test"], extra);
  await createEmailStore(database.sql).accept(email);
  return email.id;
}

/** Appends events of one type about an email. */
async function addEvents(
  workspaceId: string,
  emailId: string,
  type: string,
  count: number,
  payload: object = {},
): Promise<void> {
  await database.sql`
    with bump as (update event_counters set last = last + ${count} where workspace_id = ${workspaceId} returning last - ${count} as base)
    insert into events (workspace_id, number, id, type, email_id, payload, created_at)
    select ${workspaceId}, base + n, gen_random_uuid(), ${type}, ${emailId}::uuid, ${JSON.stringify(payload)}::text::jsonb, stamp_time() from bump, generate_series(1, ${count}::int) n`;
}

async function recordOf(workspaceId: string) {
  const [row] = await database.sql<
    {
      steps: [number, number, number, object?][];
      warning: { figure: string; count: number } | null;
      handled: boolean;
    }[]
  >`
    select steps, warning, handled from sending_records where workspace_id = ${workspaceId}`;
  return row!;
}

const offendersOf = async (workspaceId: string, mode: BrakeMode = "new") =>
  (await findOffenders(database.sql, mode)).filter((one) => one.workspaceId === workspaceId);

describe("outcomes", () => {
  it("are counted once by nodes that fold at the same time, in steps, without test mail", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    const emailId = await makeEmail(workspaceId);
    const testId = await makeEmail(workspaceId, { test: true });
    for (let i = 0; i < 10; i++) {
      await addEvents(workspaceId, emailId, "email.delivered", 60);
      await addEvents(workspaceId, emailId, "email.bounced", 5);
      await addEvents(workspaceId, testId, "email.bounced", 40);
      await addEvents(workspaceId, emailId, "email.delayed", 20);
      await addEvents(workspaceId, emailId, "email.complained", 1);
    }
    await Promise.all([foldAll(), foldAll(), foldAll()]);
    const { steps, warning } = await recordOf(workspaceId);
    const sum = (i: number) => steps.reduce((total, step) => total + Number(step[i]), 0);
    assert.deepEqual([sum(0), sum(1), sum(2)], [650, 50, 10]);
    assert.ok(steps.length > 3, JSON.stringify(steps));
    assert.equal(warning?.figure, "complaints");
  });

  it("of mail that Posthorn itself sends do not count", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    const systemMail = await makeEmail(workspaceId, { keyId: systemKeyId });
    await addEvents(workspaceId, systemMail, "email.bounced", 150);
    await addEvents(workspaceId, systemMail, "email.complained", 20);
    await addEvents(workspaceId, await makeEmail(workspaceId), "email.delivered", 3);
    await foldAll();
    assert.deepEqual((await recordOf(workspaceId)).steps, [[3, 0, 0]]);
  });

  it("count reports of abuse, not reports that mail is not spam or fails authentication", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    const emailId = await makeEmail(workspaceId);
    for (const feedbackType of ["abuse", "fraud", "virus", "other", "not-spam", "auth-failure"])
      await addEvents(workspaceId, emailId, "email.complained", 2, { feedbackType });
    await addEvents(workspaceId, emailId, "email.complained", 1);
    await foldAll();
    assert.deepEqual((await recordOf(workspaceId)).steps, [[0, 0, 9]]);
  });

  it("of one recipient domain and its subdomains suffice for no warning", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    const emailId = await makeEmail(workspaceId);
    const complain = (domain: string, count: number) =>
      addEvents(workspaceId, emailId, "email.complained", count, {
        recipients: [`a@${domain}`],
        feedbackType: "abuse",
      });
    await complain("rival.test", 10);
    for (const label of ["a", "b", "c", "d"]) await complain(`${label}.Rival.test`, 3);
    await addEvents(workspaceId, emailId, "email.bounced", 120, { recipients: ["x@rival.test"] });
    await foldAll();
    const { steps, warning } = await recordOf(workspaceId);
    assert.equal(warning, null);
    assert.deepEqual([steps[0]![2], Object.values(steps[0]![3]!).length], [22, 1]);
    for (const domain of ["one.test", "two.test", "three.test"]) await complain(domain, 3);
    await foldAll();
    assert.deepEqual((await recordOf(workspaceId)).warning?.count, 9 + 4, "half as many as the others");
  });

  it("over a limit are found until the workspace is warned, once", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    const emailId = await makeEmail(workspaceId);
    await addEvents(workspaceId, emailId, "email.bounced", 99);
    await foldAll();
    assert.deepEqual(await offendersOf(workspaceId), []);
    await addEvents(workspaceId, emailId, "email.bounced", 1);
    await foldAll();
    const [offender] = await offendersOf(workspaceId);
    assert.deepEqual([offender!.warning.figure, offender!.warning.count], ["bounces", 100]);
    const notice = () => warningNotice(offender!, offender!.warning, Date.now());
    const warned = await Promise.all([warn(database.sql, notice()), warn(database.sql, notice())]);
    assert.deepEqual(warned.sort(), [false, true]);
    await addEvents(workspaceId, emailId, "email.bounced", 50);
    await foldAll();
    assert.deepEqual(await offendersOf(workspaceId), []);
    assert.equal((await recordOf(workspaceId)).warning?.count, 150, "the figures that the dashboard shows go on");
  });

  it("of a warned workspace suspend it when the operator changes the mode, until it is suspended", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    await addEvents(workspaceId, await makeEmail(workspaceId), "email.bounced", 100);
    await foldAll();
    const [offender] = await offendersOf(workspaceId);
    assert.equal(await warn(database.sql, warningNotice(offender!, offender!.warning, Date.now())), true);
    assert.deepEqual(await offendersOf(workspaceId), []);
    assert.equal((await offendersOf(workspaceId, "all")).length, 1);
    const notice = suspensionNotice(offender!, "Bounces.", offender!.warning, Date.now());
    await suspend(database.sql, { notice, reason: "Bounces.", automatic: true });
    assert.deepEqual(await offendersOf(workspaceId, "all"), []);
  });

  it("over a limit again are reported when a day has passed since the last warning", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    const emailId = await makeEmail(workspaceId);
    const add = async (type: string, count: number) => {
      await addEvents(workspaceId, emailId, type, count);
      await foldAll();
    };
    const warnNow = async () => {
      const [offender] = await offendersOf(workspaceId);
      return offender ? await warn(database.sql, warningNotice(offender, offender.warning, Date.now())) : false;
    };
    const passDay = () =>
      database.sql`update sending_records set warned_at = warned_at - interval '25 hours' where workspace_id = ${workspaceId}`;
    await add("email.bounced", 100);
    assert.equal(await warnNow(), true);
    await add("email.delivered", 1200);
    assert.equal((await recordOf(workspaceId)).warning, null);
    await add("email.bounced", 150);
    assert.equal(await warnNow(), false, "within a day");
    await passDay();
    assert.equal(await warnNow(), true, "without another bounce");
    await passDay();
    await add("email.delayed", 5);
    assert.equal(await warnNow(), false, "no new outcome");
    await add("email.bounced", 10);
    assert.equal(await warnNow(), true, "still over the limit a day later");
    assert.equal(await warnNow(), false);
  });

  it("start anew when the workspace is resumed", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    const emailId = await makeEmail(workspaceId);
    await addEvents(workspaceId, emailId, "email.bounced", 150);
    await foldAll();
    const named = { workspaceId, name: "test" };
    const notice = suspensionNotice(named, "Bounces.", undefined, Date.now());
    assert.equal(await suspend(database.sql, { notice, reason: "Bounces.", automatic: true }), true);
    await markHandled(database.sql, workspaceId);
    assert.equal(await resume(database.sql, resumptionNotice(named, undefined, Date.now())), true);
    assert.equal(await resume(database.sql, resumptionNotice(named, undefined, Date.now())), false);
    await foldAll();
    assert.deepEqual(await offendersOf(workspaceId), []);
    await addEvents(workspaceId, emailId, "email.bounced", 100);
    await foldAll();
    assert.equal((await offendersOf(workspaceId)).length, 1, "the brake works again");
  });

  it("are folded in turns with a pause, so that active workspaces do not keep the loop busy", async () => {
    await foldAll();
    const workspaceIds = await Promise.all(Array.from({ length: 3 }, () => makeWorkspace(database.sql)));
    const emailIds = await Promise.all(workspaceIds.map((id) => makeEmail(id)));
    const addAll = (count: number) =>
      Promise.all(workspaceIds.map((id, i) => addEvents(id, emailIds[i]!, "email.delivered", count)));
    const resting = { workspaces: 2, events: 50, restMs: 3_600_000, systemKeyId };
    const deliveredTo = async () =>
      (await Promise.all(workspaceIds.map(recordOf))).map(({ steps }) => steps[0]?.[0] ?? 0);
    await addAll(1);
    assert.equal(await foldOutcomes(database.sql, resting), true);
    await addAll(1);
    assert.equal(await foldOutcomes(database.sql, resting), false, "only the third workspace is left");
    assert.deepEqual((await deliveredTo()).toSorted(), [1, 1, 2]);
    await addAll(50);
    while (await foldOutcomes(database.sql, resting));
    assert.ok(
      (await deliveredTo()).every((count) => count >= 50),
      "many events do not wait",
    );
  });

  it("of a workspace that an earlier version created start with its last 20,000 events", async () => {
    const workspaceId = await makeWorkspace(database.sql);
    await database.sql`update event_counters set last = 25000, oldest = 25001 where workspace_id = ${workspaceId}`;
    await foldAll();
    const emailId = await makeEmail(workspaceId);
    await addEvents(workspaceId, emailId, "email.delivered", 3);
    await foldAll();
    assert.deepEqual((await recordOf(workspaceId)).steps, [[3, 0, 0]]);
  });
});
