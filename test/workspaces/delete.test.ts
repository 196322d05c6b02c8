/** `posthorn workspaces delete`: the workspace is out of service at once on every node, nothing of it is left in any table, and the
 * deletion goes on after a kill. Other workspaces keep everything. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { commandLine, record } from "../../src/audit/record.ts";
import { findServedKeys } from "../../src/domains/store/dkim-keys.ts";
import { tablesThatStay } from "../../src/operators/store/deletion.ts";
import { deleteWorkspace, readEntry } from "../../src/operators/workspaces.ts";
import { makeUuid } from "../../src/postgres/ids.ts";
import type { Sql } from "../../src/postgres/pool.ts";
import { deliverInbound, enableReceiving, type InboundTestbed, startInboundTestbed } from "../harness/inbound.ts";
import { fillTables, findLeftovers } from "../harness/leftovers.ts";
import type { RunningProgram } from "../harness/program.ts";
import { addTenant, operate, tryOperate } from "../harness/quotas.ts";
import { until } from "../harness/wait.ts";

let testbed: InboundTestbed;
let second: RunningProgram;
before(async () => {
  testbed = await startInboundTestbed();
  second = await testbed.startNode();
});
after(async () => await testbed?.stop());

const marker = "zanzibar";

/** A workspace with rows in every table, all of which contain the marker, the domain or the id. */
async function addDoomed(name: string, domain: string) {
  const { sql } = testbed.database;
  const tenant = await addTenant(testbed, name, domain);
  await enableReceiving(testbed, domain);
  const call = async (method: string, request: object, headers?: Record<string, string>) => {
    const { status, body } = await testbed.call(method, request, { key: tenant.key, headers });
    assert.equal(status, 200, `${method}: ${JSON.stringify(body)}`);
    return body;
  };
  const email = {
    from: `${marker} <${marker}@${domain}>`,
    to: [`${marker}@there.test`],
    subject: `${marker} subject`,
    body: `${marker} text`,
    metadata: { [marker]: marker },
    attachments: [{ filename: `${marker}.txt`, contentType: "text/plain", base64Content: "eA==" }],
  };
  await call("EmailService/SendEmail", email, { "idempotency-key": marker });
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  await call("EmailService/SendEmail", { ...email, scheduledAt });
  await call("WebhookService/CreateWebhook", { url: `https://there.test/${marker}`, description: marker });
  await call("SuppressionService/AddSuppression", { address: `${marker}2@there.test` });
  const raw = `From: ${marker}@there.test\nSubject: ${marker}\nMessage-ID: <${marker}-${domain}@there.test>\n\n${marker}\n`;
  assert.match(await deliverInbound(testbed, { from: `${marker}@there.test`, to: `x@${domain}`, raw }), /^250/);
  await sql`insert into members (workspace_id, id, email, role, invite_hash, invite_expires_at)
    values (${tenant.workspaceId}, ${makeUuid(Date.now())}, ${`${marker}@there.test`}, 'viewer', ${domain}, now() + interval '1 day')`;
  await record(
    sql,
    { kind: "key", id: makeUuid(Date.now()), address: marker },
    { action: "key.created", workspaceId: tenant.workspaceId },
  );
  const except = ["workspace_deletions"];
  await until("events of the workspace", async () => {
    const rows = await sql`select 1 from events where workspace_id = ${tenant.workspaceId} limit 1`;
    return rows.length > 0;
  });
  await fillTables(sql, { column: "workspace_id", id: tenant.workspaceId, marker, except });
  await sql`insert into sites (site, last_reply) values (${`${domain}-site`}, ${`550 <${marker}@there.test> unknown`})`;
  return { ...tenant, name, domain };
}

/** Rows that name the workspace, without the audit log, which keeps ids. */
async function leftovers(sql: Sql, workspace: { workspaceId: string; name: string; domain: string }) {
  const found = await findLeftovers(sql, [workspace.workspaceId, workspace.domain, workspace.name, marker]);
  const idOnly = (row: string) => tablesThatStay.some((table) => row.startsWith(`${table}: `)) && !row.includes(marker);
  // An SMTP sink and the DNS cache are named by the recipients' domain and the site of this test, not by mail.
  return found.filter((row) => !idOnly(row) && !row.startsWith("sites: ") && !row.startsWith("stream_counts: "));
}

test("a deleted workspace is out of service at once, and nothing of it is left in any table", async () => {
  const { sql } = testbed.database;
  const doomed = await addDoomed("Zebra Works", "zebra-works.test");
  const labels = await sql<{ label: string; key: string }[]>`
    select label, public_key as key from dkim_keys where workspace_id = ${doomed.workspaceId}`;
  assert.ok(labels.length > 0);
  const others = await sql`select * from domains where workspace_id <> ${doomed.workspaceId}`;
  const refused = await tryOperate(testbed, "workspaces", "delete", doomed.name);
  assert.equal(refused.code, 2, "without --yes");
  assert.match(refused.stderr, /posthorn workspaces export ws_/);

  const stream = await fetch(`${second.url}/v1.EmailService/StreamEvents`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "connect-protocol-version": "1",
      authorization: `Bearer ${doomed.key}`,
    },
    body: "{}",
  });
  assert.equal(stream.status, 200);
  const streamEnds = stream.text();

  const printed = await operate(testbed, "workspaces", "delete", doomed.name, "--yes");
  assert.match(printed, /Zebra Works is deleted\. Its DKIM keys stay in DNS for 7 days\./);
  for (const node of [testbed.program, second]) {
    const answer = await node.call("EmailService/ListEmails", {}, { key: doomed.key });
    assert.deepEqual([answer.status, answer.body.code], [401, "unauthenticated"]);
  }
  assert.match(await streamEnds, /unauthenticated/, "its streams end");
  const mail = { to: `x@${doomed.domain}`, raw: "Subject: late\n\nlate\n" };
  await until("inbound mail to be refused", async () =>
    deliverInbound(testbed, mail).then(
      () => false,
      (error: Error) => /550 5\.7\.1/.test(error.message),
    ),
  );
  assert.deepEqual(await leftovers(sql, doomed), []);
  assert.equal((await sql`select 1 from workspaces where id = ${doomed.workspaceId}`).length, 0);
  const [site] = await sql<
    { last_reply: string | null }[]
  >`select last_reply from sites where site = 'zebra-works.test-site'`;
  assert.equal(site?.last_reply, null, "replies with addresses are forgotten");
  assert.deepEqual(await sql`select * from domains where workspace_id <> ${doomed.workspaceId}`, others);

  // Mail in transit can still be verified.
  const served = await findServedKeys(
    sql,
    labels.map(({ label }) => label),
  );
  assert.deepEqual(
    served,
    labels.map(({ key }) => key),
  );
  await sql`update kept_dkim_keys set kept_until = service_time() - interval '1 second'`;
  assert.deepEqual(await findServedKeys(sql, [labels[0]!.label]), [undefined]);

  const actions = await sql<{ action: string; actor: string }[]>`
    select action, actor from audit_entries where workspace_id = ${doomed.workspaceId} and starts_with(action, 'workspace.') order by id`;
  assert.deepEqual(
    actions.map(({ action, actor }) => `${actor} ${action}`),
    ["command workspace.deleted", "service workspace.erased"],
  );
  assert.equal((await tryOperate(testbed, "workspaces", "delete", doomed.name, "--yes")).code, 2, "it is unknown now");
});

test("the first workspace cannot be deleted", async () => {
  const { code, stderr } = await tryOperate(testbed, "workspaces", "delete", "default", "--yes");
  assert.equal(code, 1);
  assert.match(
    stderr,
    /default is the first workspace: the service sends its own mail, such as sign-up and password links, from its domain/,
  );
});

test("a deletion goes on after its node was killed, and late rows are swept", async () => {
  const { sql } = testbed.database;
  const doomed = await addDoomed("Yak Works", "yak-works.test");
  // Enough events that the deletion takes many batches.
  await sql`insert into events (workspace_id, number, id, type, payload)
    select ${doomed.workspaceId}, 1000 + n, gen_random_uuid(), 'email.delivered', ${JSON.stringify({ marker })}::text::jsonb
    from generate_series(1, 40000) n`;
  const target = (await readEntry(sql, doomed.workspaceId))!;
  const count = async () => {
    const [row] = await sql<
      { rows: number }[]
    >`select count(*)::int as rows from events where workspace_id = ${doomed.workspaceId}`;
    return row!.rows;
  };
  assert.equal(await deleteWorkspace(sql, { workspace: target, actor: commandLine, providers: [] }), true);
  assert.equal(
    await deleteWorkspace(sql, { workspace: target, actor: commandLine, providers: [] }),
    false,
    "a repeated call",
  );
  await until("a part to be deleted", async () => (await count()) < 39_000, { everyMs: 5 });
  for (const node of [testbed.program, second]) await node.kill();
  const left = await count();
  assert.ok(left > 0, "the kill came too late to test anything");
  assert.equal((await sql`select 1 from workspaces where id = ${doomed.workspaceId}`).length, 1);
  await testbed.restartNode(testbed.program);
  await until("the end of the deletion", async () => {
    const rows = await sql`select 1 from workspaces where id = ${doomed.workspaceId}`;
    return rows.length === 0;
  });
  assert.deepEqual(await leftovers(sql, doomed), []);

  // A transaction that began before the deletion writes after it.
  await sql`insert into suppressions (workspace_id, address, reason) values (${doomed.workspaceId}, ${`${marker}@there.test`}, 'manual')`;
  await sql`update workspace_deletions set finished_at = finished_at - interval '20 minutes', swept_at = null`;
  await until("the sweep", async () => (await leftovers(sql, doomed)).length === 0);
});
