/** Which workspace receives mail for a domain. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { deliverInbound, enableReceiving, type InboundTestbed, startInboundTestbed } from "../harness/inbound.ts";
import { runCommand } from "../harness/program.ts";
import { addSendingDomain, senderDomain } from "../harness/testbed.ts";

let testbed: InboundTestbed;
let theirKey: string;
let theirWorkspace: string;
before(async () => {
  testbed = await startInboundTestbed();
  const options = { dataDir: testbed.program.dataDir, databaseUrl: testbed.database.url };
  await runCommand(["workspaces", "create", "Theirs"], options);
  theirKey = (await runCommand(["keys", "create", "--workspace", "Theirs"], options)).stdout.trim();
  const [row] = await testbed.database.sql<{ id: string }[]>`select id from workspaces where name = 'Theirs'`;
  theirWorkspace = row!.id;
  await addSendingDomain(testbed.database.sql, theirWorkspace, "theirs.test");
});
after(async () => await testbed.stop());

const messageOf = (subject: string, extra = "") => `From: ann@there.test\nSubject: ${subject}\n${extra}\nHello\n`;

async function subjects(key?: string): Promise<string[]> {
  const { body } = await testbed.call("InboundService/ListInbound", { pageSize: 100 }, key ? { key } : {});
  return (body.data as { subject: string }[]).map(({ subject }) => subject);
}

test("a domain with proved control gets a temporary error until its MX record is found, then receives", async () => {
  const { sql } = testbed.database;
  await assert.rejects(deliverInbound(testbed, { to: "us@theirs.test", raw: messageOf("too early") }), /550 5\.7\.1/);
  // The program caches the state of a name for a few seconds, so each state uses another name.
  await addSendingDomain(sql, theirWorkspace, "proved.test");
  await sql`update domains set control_proved_at = now() where domain = 'proved.test'`;
  await assert.rejects(deliverInbound(testbed, { to: "us@proved.test", raw: messageOf("early") }), /451 4\.7\.1/);
  await addSendingDomain(sql, theirWorkspace, "ready.test");
  await enableReceiving(testbed, "ready.test");
  await deliverInbound(testbed, { to: "us@ready.test", raw: messageOf("for them") });
  assert.deepEqual(await subjects(theirKey), ["for them"]);
  assert.deepEqual(await subjects(), []);
});

test("of two workspaces with the same name, the one that proved control last receives", async () => {
  const { sql } = testbed.database;
  await addSendingDomain(sql, testbed.workspaceId, "shared.test");
  await enableReceiving(testbed, "shared.test");
  await addSendingDomain(sql, theirWorkspace, "shared.test");
  await sql`update domains set can_receive = true, control_proved_at = now() + interval '1 second'
    where domain = 'shared.test' and workspace_id = ${theirWorkspace}`;
  await deliverInbound(testbed, { to: "us@shared.test", raw: messageOf("for the last") });
  assert.ok((await subjects(theirKey)).includes("for the last"));
  assert.ok(!(await subjects()).includes("for the last"));
});

test("a message for two workspaces reaches both, and only the owner of the parent email sees the thread", async () => {
  const sent = (await testbed.send({})).body as { id: string; messageId: string };
  const raw = messageOf("for both", `Message-ID: <both@there.test>\nIn-Reply-To: ${sent.messageId}\n`);
  await deliverInbound(testbed, { to: [`us@${senderDomain}`, "us@ready.test"], raw });
  const find = async (key?: string) => {
    const { body } = await testbed.call("InboundService/ListInbound", { search: "for both" }, key ? { key } : {});
    return (body.data as { to: string[]; parentEmailId: string }[]).map(({ to, parentEmailId }) => [to, parentEmailId]);
  };
  assert.deepEqual(await find(), [[[`us@${senderDomain}`], sent.id]]);
  assert.deepEqual(await find(theirKey), [[["us@ready.test"], ""]]);
  const types = async (key?: string) => {
    const { body } = await testbed.call("EmailService/ListEvents", { pageSize: 500 }, key ? { key } : {});
    return (body.data as { event: { type: string } }[]).map(({ event }) => event.type).at(-1);
  };
  assert.equal(await types(), "email.replied");
  assert.equal(await types(theirKey), "email.received");
});
