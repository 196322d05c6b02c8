/** POSTHORN_ABUSE_BRAKE: `none` warns every workspace, `all` suspends every workspace, also those that were warned before. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { addTenant, getQuotas } from "../harness/quotas.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

/** Several domains, because bounces of a single one do not suffice. */
const domains = ["there.test", "other.test", "third.test", "fourth.test"];

let testbed: Testbed;
let newcomer: Tenant;
let established: Tenant;
before(async () => {
  testbed = await startTestbed({
    domains,
    env: {
      POSTHORN_ABUSE_BRAKE: "none",
      POSTHORN_ROLES: "api,delivery,housekeeping",
      POSTHORN_QUOTA_NEW_EMAILS_PER_HOUR: "unlimited",
    },
  });
  testbed.sink.script = ({ verb, recipient }) =>
    verb === "rcpt" && recipient.startsWith("gone") ? "550 5.1.1 no such user" : undefined;
  newcomer = await tenantOf("Newcomer", "newcomer.test");
  established = await tenantOf("Established", "established.test");
  await testbed.database.sql`update workspaces set from_sign_up = true where id = ${newcomer.workspaceId}`;
});
after(async () => await testbed?.stop());

type Tenant = { key: string; domain: string; workspaceId: string };

const tenantOf = async (name: string, domain: string): Promise<Tenant> => ({
  ...(await addTenant(testbed, name, domain)),
  domain,
});

async function sendTo({ key, domain }: Tenant, to: readonly string[]): Promise<number> {
  const emails = [to.slice(0, 50), to.slice(50, 100), to.slice(100)]
    .filter((some) => some.length > 0)
    .map((some) => ({ from: `a@${domain}`, to: some, subject: "Hello", body: "Hello" }));
  return (await testbed.call("EmailService/SendEmailBatch", { emails }, { key })).status;
}

const gone = (count: number) => Array.from({ length: count }, (_, i) => `gone${i}@${domains[i % domains.length]}`);

async function eventTypes(key: string): Promise<string[]> {
  const types = ["workspace.warning", "workspace.suspended", "workspace.resumed"];
  const { body } = await testbed.call("EmailService/ListEvents", { types, pageSize: 500 }, { key });
  return ((body.data ?? []) as { event: { type: string } }[]).map(({ event }) => event.type);
}

test("with none, a workspace from open sign-up is warned like every other one, and goes on sending", async () => {
  for (const tenant of [newcomer, established]) {
    assert.equal(await sendTo(tenant, gone(120)), 200);
    await until("the warning", async () => (await eventTypes(tenant.key)).length > 0);
    assert.deepEqual(await eventTypes(tenant.key), ["workspace.warning"]);
    const { warning, suspension } = await getQuotas(testbed, tenant.key);
    assert.deepEqual([warning?.figure, suspension], ["bounces", undefined]);
    assert.equal(await sendTo(tenant, [`good@there.test`]), 200);
  }
});

test("with all, every workspace is suspended: those that were warned before, and an established one at once", async () => {
  const later = await tenantOf("Later", "later.test");
  assert.equal(await testbed.program.stop(), 0);
  await testbed.startNode({ POSTHORN_ABUSE_BRAKE: "all" });
  for (const tenant of [newcomer, established]) {
    const reason = await until("the suspension", async () => (await getQuotas(testbed, tenant.key)).suspension?.reason);
    assert.match(reason, /recipients bounced/);
    assert.deepEqual(await eventTypes(tenant.key), ["workspace.warning", "workspace.suspended"]);
    assert.equal(await sendTo(tenant, [`good@there.test`]), 400);
  }
  assert.equal(await sendTo(later, gone(120)), 200);
  await until("the suspension", async () => (await getQuotas(testbed, later.key)).suspension);
  assert.deepEqual(await eventTypes(later.key), ["workspace.suspended"]);
});
