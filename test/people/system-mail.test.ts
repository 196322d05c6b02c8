/** Mail of the service itself has a workspace of its own: the first workspace gives its domain, and sees none of the mail. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { deliverInbound, type InboundTestbed, returnPathOf, startInboundTestbed } from "../harness/inbound.ts";
import { type Browser, signUpFirst } from "../harness/people.ts";
import { operate } from "../harness/quotas.ts";
import { until } from "../harness/wait.ts";

let testbed: InboundTestbed;
let owner: { browser: Browser; workspace: string };
before(async () => {
  testbed = await startInboundTestbed({ env: { POSTHORN_SYSTEM_FROM: "Our Posthorn <no-reply@sender.test>" } });
  owner = await signUpFirst(testbed.program);
});
after(async () => await testbed?.stop());

async function inviteOnly(email: string): Promise<void> {
  const request = { email, role: "MEMBER_ROLE_VIEWER" };
  const invited = await owner.browser.rpc("WorkspaceService/InviteMember", request, owner.workspace);
  assert.equal(invited.status, 200, JSON.stringify(invited.body));
}

async function invite(email: string): Promise<string> {
  await inviteOnly(email);
  const [mail] = await until(`the mail to ${email}`, async () => {
    const received = testbed.sink.received(email);
    return received.length > 0 ? received : undefined;
  });
  return mail!.data.toString();
}

const call = async (method: string, request = {}) => {
  const { status, body } = await testbed.program.call(method, request);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
};
const listed = async () => ((await call("EmailService/ListEmails")).data as object[]).length;

test("an invitation is sent with the first workspace's domain, and the workspace sees nothing of it", async () => {
  const before = await call("EmailService/ListEvents");
  const mail = await invite("new@there.test");
  assert.match(mail, /^DKIM-Signature:[\s\S]*?d=sender\.test/m);
  assert.match(mail, /^From: Our Posthorn <no-reply@sender\.test>/m);
  const { sql } = testbed.database;
  await until("the settled email", async () => (await sql`select 1 from events where type = 'email.delivered'`)[0]);

  assert.equal(await listed(), 0);
  assert.deepEqual(await call("EmailService/ListEvents"), before, "the log of the workspace did not move");
  const sent = await call("EmailService/SendEmail", {
    from: "a@sender.test",
    to: ["b@there.test"],
    subject: "Mine",
    body: "Hello",
  });
  const events = (await call("EmailService/ListEvents")).data as { cursor: string }[];
  const last = await sql<
    { last: string }[]
  >`select last from event_counters where workspace_id = ${testbed.workspaceId}`;
  assert.equal(Number(last[0]!.last), events.length, "event numbers have no gaps");
  const emails = (await call("EmailService/ListEmails")).data as { id: string }[];
  assert.deepEqual(
    emails.map(({ id }) => id),
    [sent.id],
  );
  const { quotas } = (await call("WorkspaceService/GetQuotas")) as { quotas: { kind: string; used?: string }[] };
  const used = quotas.find(({ kind }) => kind === "QUOTA_KIND_EMAILS_PER_DAY")!.used;
  assert.equal(Number(used), 1);
});

test("operators list it, and no list of workspaces shows its workspace", async () => {
  const lines = (await operate(testbed, "system-mail", "--json")).trim().split("\n");
  const [mail] = lines.map((line) => JSON.parse(line) as Record<string, string>);
  assert.deepEqual(
    [mail!.to, mail!.subject, mail!.outcome],
    ["new@there.test", "You are invited to Posthorn", "delivered"],
  );
  assert.match(await operate(testbed, "system-mail", "--to", "new@there.test"), /delivered +new@there\.test/);
  assert.match(await operate(testbed, "system-mail", "--to", "none@there.test"), /No system mail/);
  assert.doesNotMatch(await operate(testbed, "workspaces", "list"), /System mail/);
});

test("replies and automatic answers to it are stored with it, and the first workspace sees nothing of them", async () => {
  const before = await call("EmailService/ListEvents");
  await invite("asks@there.test");
  const { sql } = testbed.database;
  const [mail] = await sql<{ id: string; messageId: string }[]>`
    select e.id, e.message_id as "messageId" from emails e join recipients r on r.email_id = e.id where r.address = 'asks@there.test'`;
  const raw = (subject: string) =>
    `From: asks@there.test\nSubject: ${subject}\nIn-Reply-To: ${mail!.messageId}\n\nWho is this?\n> a quoted link\n`;
  await deliverInbound(testbed, { to: "no-reply@sender.test", raw: raw("Re: You are invited") });
  await deliverInbound(testbed, { to: returnPathOf(`em_${mail!.id}`), raw: raw("I am away") });
  // Other mail to the same address is the workspace's, also when it names a thread that does not exist.
  const other = raw("Hello").replace(/^In-Reply-To: <.{8}/m, "In-Reply-To: <01890000");
  await deliverInbound(testbed, { to: "no-reply@sender.test", raw: other });

  const stored = await sql<{ subject: string; isOfSystem: boolean; parent: string }[]>`
    select m.subject, w.kind = 'system' as "isOfSystem", m.parent_email_id as parent
    from inbound_messages m join workspaces w on w.id = m.workspace_id order by m.id`;
  assert.deepEqual(
    stored.map((row) => [row.subject, row.isOfSystem, row.parent]),
    [
      ["Re: You are invited", true, mail!.id],
      ["I am away", true, mail!.id],
      ["Hello", false, null],
    ],
  );
  const inbound = (await call("InboundService/ListInbound")).data as { subject: string }[];
  assert.deepEqual(
    inbound.map(({ subject }) => subject),
    ["Hello"],
  );
  const after = (await call("EmailService/ListEvents")).data as object[];
  assert.equal(after.length, (before.data as object[]).length + 1);
});

test("operators read by API what became of it, and never a link", async () => {
  const { browser } = owner;
  const list = async (request = {}) => (await browser.rpc("OperatorService/ListSystemMail", request)).body;
  assert.equal((await list()).code, "permission_denied", "an owner of the first workspace");
  const { sql } = testbed.database;
  await sql`update people set is_operator = true`;
  await sql`update people_sessions set has_second_factor = true, proved_at = service_time()`;
  assert.equal((await testbed.program.call("OperatorService/ListSystemMail")).body.code, "permission_denied", "a key");

  type Mail = {
    to: string;
    subject: string;
    outcome: string;
    statusMessage: string;
    suppressed: boolean;
    replies: { text: string }[];
  };
  const mailTo = async (recipient: string) => ((await list({ search: recipient })).data as Mail[])[0];
  const mail = await mailTo("ASKS@there.test");
  assert.deepEqual([mail!.subject, mail!.outcome], ["You are invited to Posthorn", "EMAIL_OUTCOME_DELIVERED"]);
  assert.deepEqual(
    mail!.replies.map(({ text }) => text),
    ["Who is this?", "Who is this?"],
  );
  const first = await list({ pageSize: 1 });
  const second = await list({ pageSize: 1, pageToken: first.nextPageToken });
  assert.deepEqual(
    [first, second].map(({ data }) => (data as Mail[])[0]!.to),
    ["asks@there.test", "new@there.test"],
  );
  assert.deepEqual((await list({ outcomes: ["EMAIL_OUTCOME_BOUNCED"] })).data, []);

  // A receiver that quotes the link in its refusal.
  const token = "q7Rt".repeat(10).concat("abc");
  testbed.sink.script = ({ verb, recipient }) =>
    verb === "dot" && recipient === "gone@there.test"
      ? `550 5.1.1 No such user, listed: https://mail.example.test/invitation#token=${token}`
      : undefined;
  await inviteOnly("gone@there.test");
  const gone = await until("the bounce", async () => {
    const mail = await mailTo("gone@there.test");
    return mail?.suppressed && mail.outcome === "EMAIL_OUTCOME_BOUNCED" ? mail : undefined;
  });
  assert.match(gone.statusMessage, /550 5\.1\.1 No such user/);
  assert.doesNotMatch(JSON.stringify(await list()), /q7Rt/);
  assert.doesNotMatch(await operate(testbed, "system-mail"), /q7Rt/);
});

test("after a bounce, operators let the address get mail of the service again", async () => {
  const remove = { address: "Gone@there.test" };
  const removed = await owner.browser.rpc("OperatorService/RemoveSystemSuppression", remove);
  assert.deepEqual(removed.body, { message: "gone@there.test gets mail of the service again." });
  const again = await owner.browser.rpc("OperatorService/RemoveSystemSuppression", remove);
  assert.equal(again.body.code, "not_found");
  testbed.sink.script = () => undefined;
  const { sql } = testbed.database;
  await sql`delete from members where email = 'gone@there.test'`;
  assert.match(await invite("gone@there.test"), /You are invited/);
  const [entry] = await sql<{ action: string }[]>`select action from audit_entries where action like 'system_mail.%'`;
  assert.equal(entry?.action, "system_mail.unsuppressed");
});

test("mail of the service is sent while the first workspace is suspended", async () => {
  await operate(testbed, "workspaces", "suspend", "default");
  assert.match(await invite("still@there.test"), /You are invited/);
  await operate(testbed, "workspaces", "resume", "default");
});

test("nodes that start together share one system workspace", async () => {
  const nodes = await Promise.all([testbed.startNode(), testbed.startNode()]);
  for (const node of nodes) await node.remove();
  const { sql } = testbed.database;
  assert.equal((await sql`select 1 from workspaces where kind = 'system'`).length, 1);
});

test("while a program of an earlier release runs, the mail stays where that program can send it", async () => {
  const { sql } = testbed.database;
  const count = await listed();
  await sql`insert into workers (host, pid, roles, version, schema_version, beat_at)
    values ('old', 1, '{delivery}', '0', 39, service_time())`;
  await invite("early@there.test");
  assert.equal(await listed(), count + 1);
  await sql`delete from workers where host = 'old'`;
  await invite("late@there.test");
  assert.equal(await listed(), count + 1);
});
