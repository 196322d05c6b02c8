import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted } from "../harness/sending.ts";
import { addSendingDomain, startWorld, type World } from "../harness/world.ts";

let world: World;
before(async () => {
  world = await startWorld();
  await addSendingDomain(world.database.sql, world.workspaceId, "second.test");
  await addSendingDomain(world.database.sql, world.workspaceId, "pending.test");
  await world.database.sql`update domains set can_send = false, status = 'pending' where domain = 'pending.test'`;
});
after(async () => await world.stop());

async function makeKey(request: Record<string, unknown>): Promise<string> {
  const { status, body } = await world.call("KeyService/CreateKey", { name: "k", ...request });
  assert.equal(status, 200, JSON.stringify(body));
  return body.secret as string;
}

const sendAs = (key: string, from: string) =>
  world.call("EmailService/SendEmail", { from, to: ["a@there.test"], subject: "Hi", body: "Hi" }, { key });

test("a domain that is not ours, or not yet able to send, is a failed precondition that names the next step", async () => {
  const unknown = await world.send({ from: "a@unknown.test" });
  assert.equal(unknown.status, 400);
  assert.equal(unknown.body.code, "failed_precondition");
  assert.match(unknown.body.message as string, /unknown\.test.*AddDomain/);
  const pending = await world.send({ from: "a@pending.test" });
  assert.equal(pending.body.code, "failed_precondition");
  assert.match(pending.body.message as string, /pending\.test.*VerifyDomain/);
  // A name below a domain of ours is another name.
  assert.equal((await world.send({ from: "a@sub.sender.test" })).body.code, "failed_precondition");
});

test("the domain of the sender is compared without regard to case", async () => {
  const { status } = await world.send({ from: "News <News@Sender.TEST>" });
  assert.equal(status, 200);
});

test("a deleted domain sends no more, and what it had accepted still goes out signed", async () => {
  const id = await addSendingDomain(world.database.sql, world.workspaceId, "leaving.test");
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  const waiting = await accepted(world, { from: "a@leaving.test", to: ["kept@there.test"], scheduledAt });
  await world.database.sql`update domains set deleted_at = now() where id = ${id}`;
  assert.equal((await world.send({ from: "a@leaving.test" })).body.code, "failed_precondition");
  await world.database.sql`update recipients set due_at = now() where status = 'queued'`;
  await world.sink.until((sink) => sink.received("kept@there.test").length === 1);
  assert.match(world.sink.received("kept@there.test")[0]!.data.toString(), /^DKIM-Signature:[\s\S]* d=leaving\.test;/);
  assert.ok(waiting);
});

test("a key pinned to a domain sends from that domain alone", async () => {
  const key = await makeKey({ permission: "KEY_PERMISSION_SEND", domain: "second.test" });
  assert.equal((await sendAs(key, "a@second.test")).status, 200);
  const other = await sendAs(key, "a@sender.test");
  assert.equal(other.status, 403);
  assert.equal(other.body.code, "permission_denied");
  assert.match(other.body.message as string, /second\.test/);
});

test("a send key sees the state of what it sent itself and nothing else", async () => {
  const mine = await makeKey({ permission: "KEY_PERMISSION_SEND" });
  const theirs = await makeKey({ permission: "KEY_PERMISSION_SEND" });
  const { body } = await sendAs(mine, "a@sender.test");
  const read = (key: string) => world.call("EmailService/GetEmail", { id: body.id }, { key });
  assert.equal((await read(mine)).status, 200);
  assert.equal((await read(theirs)).body.code, "not_found");
  for (const method of ["ListEmails", "CancelEmail", "GetEmailContent", "ListEvents"]) {
    const answer = await world.call(`EmailService/${method}`, { id: body.id }, { key: mine });
    assert.equal(answer.body.code, "permission_denied", method);
  }
});

test("a read key sees emails and events, and no content", async () => {
  const key = await makeKey({ permission: "KEY_PERMISSION_READ" });
  const id = await accepted(world, {});
  assert.equal((await world.call("EmailService/GetEmail", { id }, { key })).status, 200);
  assert.equal((await world.call("EmailService/ListEvents", { emailId: id }, { key })).status, 200);
  for (const method of ["SendEmail", "CancelEmail", "GetEmailContent"]) {
    assert.equal((await world.call(`EmailService/${method}`, { id }, { key })).body.code, "permission_denied", method);
  }
});
