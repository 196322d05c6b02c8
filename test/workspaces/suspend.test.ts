/** `posthorn workspaces suspend` and `resume`: sending stops on every node, queued mail waits and goes out completely, the rest works. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { deliverInbound, type InboundTestbed, startInboundTestbed } from "../harness/inbound.ts";
import { addTenant, getQuotas, operate, refusalOf, tryOperate } from "../harness/quotas.ts";
import { accepted, eventsOf, getEmail, makeDue, untilEvent, untilFinished } from "../harness/sending.ts";
import { until } from "../harness/wait.ts";

let testbed: InboundTestbed;
before(async () => {
  testbed = await startInboundTestbed();
});
after(async () => await testbed?.stop());

test("a suspended workspace cannot send, its queue waits on every node, and resuming it delivers everything", async () => {
  const { sql } = testbed.database;
  const second = await testbed.startNode();
  let answer = "451 4.7.1 later";
  testbed.sink.script = ({ verb, recipient }) => (verb === "rcpt" && recipient.startsWith("wait") ? answer : undefined);
  const delayed = await accepted(testbed, { to: ["wait1@there.test"], async: true });
  await untilEvent(testbed, delayed, "email.delayed");
  const headers = { "idempotency-key": "before" };
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  const scheduled = await accepted(testbed, { to: ["later@there.test"], scheduledAt }, headers);

  await operate(testbed, "workspaces", "suspend", "default", "--reason", "The bill is not paid.");
  const standing = await until("the suspension", async () => await getQuotas(testbed));
  assert.equal(standing.suspension?.reason, "The bill is not paid.");
  for (const node of [testbed.program, second]) {
    const request = { from: "news@sender.test", to: ["x@there.test"], subject: "s", body: "b" };
    const { status, body } = await node.call("EmailService/SendEmail", request);
    assert.deepEqual(
      [status, refusalOf(body).code, refusalOf(body).reason],
      [400, "failed_precondition", "WORKSPACE_SUSPENDED"],
    );
    assert.match(refusalOf(body).message, /The bill is not paid\./);
    const batch = await node.call("EmailService/SendEmailBatch", { emails: [request] });
    assert.equal(refusalOf(batch.body).reason, "WORKSPACE_SUSPENDED");
  }
  assert.equal(
    await accepted(testbed, { to: ["later@there.test"], scheduledAt }, headers),
    scheduled,
    "a repeated call",
  );
  assert.equal((await tryOperate(testbed, "workspaces", "suspend", "default")).code, 1, "suspended already");

  // Every other workspace is served.
  answer = "250 2.1.5 fine";
  await makeDue(testbed);
  const other = await addTenant(testbed, "Other", "other-sender.test");
  const theirs = { from: "a@other-sender.test", to: ["free@there.test"], subject: "s", body: "b", async: true };
  assert.equal((await testbed.call("EmailService/SendEmail", theirs, { key: other.key })).status, 200);
  await until("the other workspace's mail", async () => testbed.sink.received("free@there.test").length > 0);
  assert.equal(testbed.sink.received("later@there.test").length, 0);
  assert.equal((await getEmail(testbed, delayed)).status, "EMAIL_STATUS_QUEUED");

  // Its default expiry passes. Expiry of lanes that are not served is looked for every five seconds, and finds nothing.
  const raw = "From: ann@there.test\nSubject: Hello\nMessage-ID: <in1@there.test>\n\nHello\n";
  assert.match(await deliverInbound(testbed, { to: "x@sender.test", raw }), /^250/, "inbound mail still arrives");
  await testbed.untilEvents("the inbound message", (all) => all.some(({ event }) => event.type === "email.received"));
  await sql`update emails set default_expires_at = service_time() - interval '1 minute' where open > 0`;
  await sql`update workspace_suspensions set service_from = service_from - interval '1 hour'`;

  await operate(testbed, "workspaces", "resume", "default");
  await until("an active workspace", async () => (await getQuotas(testbed)).suspension === undefined);
  for (const id of [delayed, scheduled]) {
    await untilFinished(testbed, id);
    const types = (await eventsOf(testbed, id)).map(({ type }) => type);
    assert.equal(types.at(-1), "email.delivered", types.join());
  }
  await accepted(testbed, { to: ["after@there.test"] });
  assert.equal((await tryOperate(testbed, "workspaces", "resume", "default")).code, 1, "not suspended");
  const log = (await testbed.events()).map(({ event }) => event.type).filter((type) => type.startsWith("workspace."));
  assert.deepEqual(log, ["workspace.suspended", "workspace.resumed"]);
});

test("mail that was attempted before keeps its own expiry when the suspension does not explain it", async () => {
  const { sql } = testbed.database;
  testbed.sink.script = ({ verb, recipient }) =>
    verb === "rcpt" && recipient === "old@there.test" ? "451 4.7.1 later" : undefined;
  const id = await accepted(testbed, { to: ["old@there.test"], async: true });
  await untilEvent(testbed, id, "email.delayed");
  await sql`update emails set default_expires_at = service_time(), expires_at = created_at where id = ${id.slice(3)}`;
  await makeDue(testbed);
  const events = await untilEvent(testbed, id, "email.bounced");
  assert.equal(events.at(-1)!.payload.category, "expired");
});
