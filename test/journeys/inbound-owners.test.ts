import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { bring, type InboundWorld, receives, startInboundWorld } from "../harness/inbound.ts";
import { runCommand } from "../harness/program.ts";
import { addSendingDomain, senderDomain } from "../harness/world.ts";

let world: InboundWorld;
let theirKey: string;
let theirWorkspace: string;
before(async () => {
  world = await startInboundWorld();
  const options = { dataDir: world.program.dataDir, databaseUrl: world.database.url };
  await runCommand(["workspaces", "create", "Theirs"], options);
  theirKey = (await runCommand(["keys", "create", "--workspace", "Theirs"], options)).stdout.trim();
  const [row] = await world.database.sql<{ id: string }[]>`select id from workspaces where name = 'Theirs'`;
  theirWorkspace = row!.id;
  await addSendingDomain(world.database.sql, theirWorkspace, "theirs.test");
});
after(async () => await world.stop());

const letter = (subject: string, extra = "") => `From: ann@there.test\nSubject: ${subject}\n${extra}\nHello\n`;

async function subjects(key?: string): Promise<string[]> {
  const { body } = await world.call("InboundService/ListInbound", { pageSize: 100 }, key ? { key } : {});
  return (body.data as { subject: string }[]).map(({ subject }) => subject);
}

test("a domain whose control is proved puts mail off until its MX record was seen, and then receives", async () => {
  const { sql } = world.database;
  await assert.rejects(bring(world, { to: "us@theirs.test", raw: letter("too early") }), /550 5\.7\.1/);
  // What was said of a name is kept for a few seconds: another name shows the next state.
  await addSendingDomain(sql, theirWorkspace, "proved.test");
  await sql`update domains set control_proved_at = now() where domain = 'proved.test'`;
  await assert.rejects(bring(world, { to: "us@proved.test", raw: letter("early") }), /451 4\.7\.1/);
  await addSendingDomain(sql, theirWorkspace, "ready.test");
  await receives(world, "ready.test");
  await bring(world, { to: "us@ready.test", raw: letter("for them") });
  assert.deepEqual(await subjects(theirKey), ["for them"]);
  assert.deepEqual(await subjects(), []);
});

test("of two workspaces with one name, the one that proved control last receives", async () => {
  const { sql } = world.database;
  await addSendingDomain(sql, world.workspaceId, "shared.test");
  await receives(world, "shared.test");
  await addSendingDomain(sql, theirWorkspace, "shared.test");
  await sql`update domains set can_receive = true, control_proved_at = now() + interval '1 second'
    where domain = 'shared.test' and workspace_id = ${theirWorkspace}`;
  await bring(world, { to: "us@shared.test", raw: letter("for the last") });
  assert.ok((await subjects(theirKey)).includes("for the last"));
  assert.ok(!(await subjects()).includes("for the last"));
});

test("one message for two workspaces reaches both, and a thread of one is nothing to the other", async () => {
  const sent = (await world.send({})).body as { id: string; messageId: string };
  const raw = letter("for both", `Message-ID: <both@there.test>\nIn-Reply-To: ${sent.messageId}\n`);
  await bring(world, { to: [`us@${senderDomain}`, "us@ready.test"], raw });
  const find = async (key?: string) => {
    const { body } = await world.call("InboundService/ListInbound", { search: "for both" }, key ? { key } : {});
    return (body.data as { to: string[]; parentEmailId: string }[]).map(({ to, parentEmailId }) => [to, parentEmailId]);
  };
  assert.deepEqual(await find(), [[[`us@${senderDomain}`], sent.id]]);
  assert.deepEqual(await find(theirKey), [[["us@ready.test"], ""]]);
  const types = async (key?: string) => {
    const { body } = await world.call("EmailService/ListEvents", { pageSize: 500 }, key ? { key } : {});
    return (body.data as { event: { type: string } }[]).map(({ event }) => event.type).at(-1);
  };
  assert.equal(await types(), "email.replied");
  assert.equal(await types(theirKey), "email.received");
});
