import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, makeDue } from "../harness/sending.ts";
import { addSendingDomain, startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed();
  await addSendingDomain(testbed.database.sql, testbed.workspaceId, "second.test");
  await addSendingDomain(testbed.database.sql, testbed.workspaceId, "pending.test");
  await testbed.database.sql`update domains set can_send = false, status = 'pending' where domain = 'pending.test'`;
});
after(async () => await testbed.stop());

async function makeKey(request: Record<string, unknown>): Promise<string> {
  const { status, body } = await testbed.call("KeyService/CreateKey", { name: "k", ...request });
  assert.equal(status, 200, JSON.stringify(body));
  return body.secret as string;
}

const sendAs = (key: string, from: string) =>
  testbed.call("EmailService/SendEmail", { from, to: ["a@there.test"], subject: "Hi", body: "Hi" }, { key });

test("a domain that is not registered or cannot send yet is a failed precondition, and the error names the next step", async () => {
  const unknown = await testbed.send({ from: "a@unknown.test" });
  assert.equal(unknown.status, 400);
  assert.equal(unknown.body.code, "failed_precondition");
  assert.match(unknown.body.message as string, /unknown\.test.*AddDomain/);
  const pending = await testbed.send({ from: "a@pending.test" });
  assert.equal(pending.body.code, "failed_precondition");
  assert.match(pending.body.message as string, /pending\.test.*VerifyDomain/);
  // A subdomain of a registered domain is a different domain.
  assert.equal((await testbed.send({ from: "a@sub.sender.test" })).body.code, "failed_precondition");
});

test("the sender's domain is compared case-insensitively", async () => {
  const { status } = await testbed.send({ from: "News <News@Sender.TEST>" });
  assert.equal(status, 200);
});

test("a deleted domain accepts no new mail, and its accepted mail is still sent and signed", async () => {
  const id = await addSendingDomain(testbed.database.sql, testbed.workspaceId, "leaving.test");
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  const waiting = await accepted(testbed, { from: "a@leaving.test", to: ["kept@there.test"], scheduledAt });
  await testbed.database.sql`update domains set deleted_at = now() where id = ${id}`;
  assert.equal((await testbed.send({ from: "a@leaving.test" })).body.code, "failed_precondition");
  await makeDue(testbed);
  await testbed.sink.until((sink) => sink.received("kept@there.test").length === 1);
  assert.match(
    testbed.sink.received("kept@there.test")[0]!.data.toString(),
    /^DKIM-Signature:[\s\S]* d=leaving\.test;/m,
  );
  assert.ok(waiting);
});

test("a key restricted to a domain sends only from that domain", async () => {
  const key = await makeKey({ permission: "KEY_PERMISSION_SEND", domain: "second.test" });
  assert.equal((await sendAs(key, "a@second.test")).status, 200);
  const other = await sendAs(key, "a@sender.test");
  assert.equal(other.status, 403);
  assert.equal(other.body.code, "permission_denied");
  assert.match(other.body.message as string, /second\.test/);
});

test("a send key reads the status of its own emails and nothing else", async () => {
  const ownKey = await makeKey({ permission: "KEY_PERMISSION_SEND" });
  const otherKey = await makeKey({ permission: "KEY_PERMISSION_SEND" });
  const { body } = await sendAs(ownKey, "a@sender.test");
  const read = (key: string) => testbed.call("EmailService/GetEmail", { id: body.id }, { key });
  assert.equal((await read(ownKey)).status, 200);
  assert.equal((await read(otherKey)).body.code, "not_found");
  for (const method of ["ListEmails", "CancelEmail", "UpdateEmail", "GetEmailContent", "ListEvents"]) {
    const response = await testbed.call(`EmailService/${method}`, { id: body.id }, { key: ownKey });
    assert.equal(response.body.code, "permission_denied", method);
  }
});

test("a read key reads emails and events, but no content", async () => {
  const key = await makeKey({ permission: "KEY_PERMISSION_READ" });
  const id = await accepted(testbed, {});
  assert.equal((await testbed.call("EmailService/GetEmail", { id }, { key })).status, 200);
  assert.equal((await testbed.call("EmailService/ListEvents", { emailId: id }, { key })).status, 200);
  for (const method of ["SendEmail", "CancelEmail", "UpdateEmail", "GetEmailContent"]) {
    assert.equal(
      (await testbed.call(`EmailService/${method}`, { id }, { key })).body.code,
      "permission_denied",
      method,
    );
  }
});
