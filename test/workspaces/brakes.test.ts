/** The abuse brake: workspaces from open sign-up are suspended when too much of their mail bounces, all others are warned. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { signUpFirst } from "../harness/people.ts";
import { addTenant, getQuotas, mailTo, operate, refusalOf } from "../harness/quotas.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

/** Several domains, because bounces of a single one do not suffice. */
const domains = ["there.test", "other.test", "third.test", "fourth.test"];

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed({
    domains,
    env: {
      POSTHORN_SYSTEM_FROM: "Posthorn <no-reply@sender.test>",
      POSTHORN_ROLES: "api,delivery,housekeeping",
      POSTHORN_QUOTA_NEW_EMAILS_PER_HOUR: "unlimited",
      POSTHORN_QUOTA_NEW_EMAILS_PER_DAY: "unlimited",
    },
  });
  testbed.sink.script = ({ verb, recipient }) =>
    verb === "rcpt" && recipient.startsWith("gone") ? "550 5.1.1 no such user" : undefined;
  await signUpFirst(testbed.program);
});
after(async () => await testbed?.stop());

/** Sends to many addresses, in emails of 50 recipients. */
async function sendTo(tenant: { key: string }, domain: string, addresses: readonly string[]): Promise<void> {
  const emails = Array.from({ length: Math.ceil(addresses.length / 50) }, (_, i) => ({
    from: `a@${domain}`,
    to: addresses.slice(i * 50, i * 50 + 50),
    subject: "Hello",
    body: "Hello",
  }));
  const { status, body } = await testbed.call("EmailService/SendEmailBatch", { emails }, { key: tenant.key });
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.refused ?? 0, 0, JSON.stringify(body));
}

const gone = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => `gone${from + i}@${domains[i % domains.length]}`);

async function eventTypes(key: string): Promise<string[]> {
  const types = ["workspace.warning", "workspace.suspended", "workspace.resumed"];
  const { body } = await testbed.call("EmailService/ListEvents", { types, pageSize: 500 }, { key });
  return (body.data as { event: { type: string } }[]).map(({ event }) => event.type);
}

test("bounces suspend a workspace from open sign-up; queued mail waits; resuming it counts anew", async () => {
  const { sql } = testbed.database;
  const tenant = await addTenant(testbed, "Newcomer", "newcomer.test");
  await sql`update workspaces set from_sign_up = true where id = ${tenant.workspaceId}`;
  await testbed.startNode();
  await sendTo(tenant, "newcomer.test", gone(99));
  await until("99 bounces", async () => {
    const rows = await sql`select 1 from recipients where workspace_id = ${tenant.workspaceId} and status = 'bounced'`;
    return rows.length === 99 || undefined;
  });
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  const queued = { from: "a@newcomer.test", to: ["good@there.test"], subject: "s", body: "b", scheduledAt };
  assert.equal(
    (await testbed.call("EmailService/SendEmail", queued, { key: tenant.key })).status,
    200,
    "99 are not enough",
  );
  await sendTo(tenant, "newcomer.test", gone(6, 100));
  const { suspension, warning } = await until("the suspension", async () => {
    const standing = await getQuotas(testbed, tenant.key);
    return standing.suspension ? standing : undefined;
  });
  assert.match(suspension!.reason, /^10\d of the last 10\d recipients bounced \(100 %\)\. The limit is 10 %\.$/);
  assert.equal(warning?.figure, "bounces");
  const refused = await testbed.call("EmailService/SendEmail", queued, { key: tenant.key });
  assert.equal(refusalOf(refused.body).code, "failed_precondition");
  assert.match(refusalOf(refused.body).message, /recipients bounced/);
  assert.deepEqual(await eventTypes(tenant.key), ["workspace.suspended"]);
  await sql`update emails set scheduled_at = now() where workspace_id = ${tenant.workspaceId} and open > 0`;
  await sql`update recipients set due_at = service_time() where workspace_id = ${tenant.workspaceId} and status = 'queued'`;
  await operate(testbed, "workspaces", "resume", "Newcomer");
  await until("the queued mail", async () => testbed.sink.received("good@there.test").length > 0);
  await sendTo(tenant, "newcomer.test", ["good2@there.test", ...gone(20, 200)]);
  await until("the next bounces", async () => {
    const rows =
      await sql`select 1 from sending_records where workspace_id = ${tenant.workspaceId} and steps -> 0 ->> 1 = '20'`;
    return rows.length > 0 || undefined;
  });
  assert.equal((await getQuotas(testbed, tenant.key)).suspension, undefined);
  assert.deepEqual(await eventTypes(tenant.key), ["workspace.suspended", "workspace.resumed"]);
});

test("an established workspace is warned once, with mail to its owners, and goes on", async () => {
  const key = testbed.program.key;
  await sendTo({ key }, "sender.test", gone(120));
  const { warning, suspension } = await until("the warning", async () => {
    const standing = await getQuotas(testbed, key);
    return standing.warning ? standing : undefined;
  });
  assert.deepEqual([warning!.figure, suspension], ["bounces", undefined]);
  const mail = await mailTo(testbed, "owner@there.test", /default: too many bounces/);
  assert.match(mail.text ?? "", /recipients bounced/);
  await sendTo({ key }, "sender.test", gone(30, 300));
  await until("all bounces to be counted", async () => ((await getQuotas(testbed, key)).warning?.count ?? 0) >= 150);
  assert.deepEqual(await eventTypes(key), ["workspace.warning"]);
});
