/** Complaints that arrive as feedback reports over SMTP (RFC 5965) lead to the abuse brake. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import {
  deliverInbound,
  feedbackAddress,
  type InboundTestbed,
  returnPathOf,
  startInboundTestbed,
} from "../harness/inbound.ts";
import { addTenant, getQuotas, refusalOf } from "../harness/quotas.ts";
import { until } from "../harness/wait.ts";

/** Several domains, because a single one counts with at most three complaints. */
const domains = ["there.test", "other.test", "third.test", "fourth.test"];

let testbed: InboundTestbed;
before(async () => {
  testbed = await startInboundTestbed({ domains });
});
after(async () => await testbed?.stop());

const corpus = readFileSync(new URL("../corpus/inbound/arf-full.eml", import.meta.url), "utf8");

type Tenant = { key: string; workspaceId: string; domain: string };

async function tenantOf(name: string, domain: string): Promise<Tenant> {
  const tenant = { ...(await addTenant(testbed, name, domain)), domain };
  await testbed.database.sql`update workspaces set from_sign_up = true where id = ${tenant.workspaceId}`;
  return tenant;
}

/** Sends one email to these people, waits until it is delivered, and returns its id. */
async function sendTo({ key, workspaceId, domain }: Tenant, to: readonly string[]): Promise<string> {
  const request = { from: `a@${domain}`, to, subject: "Hello", body: "Hello", async: true };
  const { status, body } = await testbed.call("EmailService/SendEmail", request, { key });
  assert.equal(status, 200, JSON.stringify(body));
  await until("the deliveries", async () => {
    const rows = await testbed.database.sql`
      select 1 from recipients where workspace_id = ${workspaceId} and status <> 'delivered'`;
    return rows.length === 0;
  });
  return body.id as string;
}

async function complain(id: string, to: readonly string[], positions: readonly number[], type = "abuse") {
  for (const position of positions) {
    const raw = corpus
      .replaceAll(`rp-${"a".repeat(52)}@bounce.mail.posthorn.test`, returnPathOf(id, position))
      .replaceAll("gone@there.test", to[position]!)
      .replaceAll("<fbl.1@there.test>", `<${type}${position}.${id}@there.test>`)
      .replace("Feedback-Type: abuse", `Feedback-Type: ${type}`);
    assert.match(await deliverInbound(testbed, { to: feedbackAddress, raw }), /^250/);
  }
}

/** Waits until the brake has read the workspace's whole log. */
async function untilCounted({ workspaceId }: Tenant, complaints: number): Promise<void> {
  await until("the complaints to be counted", async () => {
    const rows = await testbed.database.sql`
      select 1 from events where workspace_id = ${workspaceId} and type = 'email.complained'`;
    const [record] = await testbed.database.sql<{ behind: number }[]>`
      select (c.last - r.events_to)::int as behind from sending_records r join event_counters c using (workspace_id)
      where r.workspace_id = ${workspaceId}`;
    return rows.length === complaints && record?.behind === 0;
  });
}

test("ten complaints of several domains suspend a workspace from open sign-up; nine do not", async () => {
  const tenant = await tenantOf("Newcomer", "newcomer.test");
  const to = Array.from({ length: 12 }, (_, i) => `p${i}@${domains[i % domains.length]}`);
  const id = await sendTo(tenant, to);
  await complain(id, to, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  await untilCounted(tenant, 9);
  assert.equal((await getQuotas(testbed, tenant.key)).suspension, undefined);
  // A repeated report is not another complaint.
  await complain(id, to, [8, 9]);
  const { suspension, warning } = await until("the suspension", async () => {
    const standing = await getQuotas(testbed, tenant.key);
    return standing.suspension ? standing : undefined;
  });
  assert.match(suspension!.reason, /^10 complaints about the last 12 recipients \(83\.33 %\)\. The limit is 0\.3 %\.$/);
  assert.deepEqual([warning?.figure, warning?.count], ["complaints", 10]);
  const request = { from: "a@newcomer.test", to: ["x@there.test"], subject: "s", body: "b" };
  const refused = await testbed.call("EmailService/SendEmail", request, { key: tenant.key });
  assert.equal(refusalOf(refused.body).reason, "WORKSPACE_SUSPENDED");
});

test("complaints of one domain, and reports that mail is not spam, suspend no workspace", async () => {
  const tenant = await tenantOf("Target", "target.test");
  const to = Array.from({ length: 24 }, (_, i) =>
    i < 12 ? `p${i}@there.test` : `p${i}@${domains[i % domains.length]}`,
  );
  const id = await sendTo(tenant, to);
  await complain(id, to, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  await complain(id, to, [12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23], "not-spam");
  await untilCounted(tenant, 24);
  const { suspension, warning } = await getQuotas(testbed, tenant.key);
  assert.deepEqual([suspension, warning], [undefined, undefined]);
});
