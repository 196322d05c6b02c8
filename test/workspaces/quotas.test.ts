/** Quotas of workspaces: refusals, what is used, notices to owners, the operator's commands, several nodes, and crashes. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { deliverInbound, enableReceiving, type InboundTestbed, startInboundTestbed } from "../harness/inbound.ts";
import { openBrowser, password, signUpFirst, tokenIn } from "../harness/people.ts";
import { addTenant, getQuotas, limit, mailTo, operate, refusalOf, tryOperate } from "../harness/quotas.ts";
import { accepted } from "../harness/sending.ts";
import { openStream } from "../harness/streams.ts";
import { until } from "../harness/wait.ts";

const env = {
  POSTHORN_SYSTEM_FROM: "Posthorn <no-reply@sender.test>",
  POSTHORN_SIGNUP: "open",
  POSTHORN_QUOTA_NEW_EMAILS_PER_HOUR: "3",
  POSTHORN_QUOTA_NEW_DOMAINS: "1",
  POSTHORN_QUOTA_NEW_WORKSPACES: "2",
};
let testbed: InboundTestbed;
let owner: Awaited<ReturnType<typeof signUpFirst>>;
before(async () => {
  testbed = await startInboundTestbed({ env });
  owner = await signUpFirst(testbed.program);
});
after(async () => await testbed?.stop());

const to = (count: number) => Array.from({ length: count }, (_, i) => `p${i}@there.test`);

describe("the quota of emails", () => {
  it("counts recipients, refuses with the time to come back, and a repeated call still gets its first answer", async () => {
    await limit(testbed, "default", { emailsPerHour: 10 });
    const headers = { "idempotency-key": "first" };
    const id = await accepted(testbed, { to: to(7), async: true }, headers);
    const batch = { emails: [1, 2].map(() => ({ from: "news@sender.test", to: to(2), subject: "s", body: "b" })) };
    const refusedBatch = await testbed.call("EmailService/SendEmailBatch", batch);
    assert.equal(refusalOf(refusedBatch.body).quota, "emailsPerHour", "a batch counts all of its recipients");
    await accepted(testbed, { to: to(3), async: true });
    const refused = await testbed.send({ to: ["x@there.test"] });
    assert.equal(refused.status, 429);
    const { code, reason, quota, retryDelay, message } = refusalOf(refused.body);
    assert.deepEqual([code, reason, quota], ["resource_exhausted", "QUOTA_EXCEEDED", "emailsPerHour"]);
    assert.match(message, /quota of 10 emails per hour/);
    const seconds = Number.parseFloat(retryDelay!);
    assert.ok(seconds > 0 && seconds <= 3600, retryDelay);
    assert.ok(Number(refused.headers.get("retry-after")) >= 1);
    assert.equal(await accepted(testbed, { to: to(7), async: true }, headers), id);
    const { quotas } = await getQuotas(testbed);
    assert.deepEqual([quotas.emails_per_hour!.limit, quotas.emails_per_hour!.used], [10, 10]);
    assert.ok(Date.parse(quotas.emails_per_hour!.resetsAt!) > Date.now());
    assert.deepEqual([quotas.emails_per_day!.limit, quotas.emails_per_day!.used], [undefined, 10]);
    assert.ok(quotas.stored_bytes!.used > 0);
  });

  it("is reported once in the event log and by mail to the owners, and other workspaces are not limited", async () => {
    const events = await testbed.untilEvents("the event about the quota", (all) =>
      all.some(({ event }) => event.type === "workspace.quota"),
    );
    const notices = events
      .filter(({ event }) => event.type === "workspace.quota")
      .map(({ event }) => event.workspaceQuota);
    const [last] = notices.slice(-1) as { kind: string; percent: number; limit: number; resetsAt: string }[];
    assert.deepEqual([last!.kind, last!.percent, last!.limit], ["QUOTA_KIND_EMAILS_PER_HOUR", 100, 10]);
    assert.ok(Date.parse(last!.resetsAt) > Date.now());
    const mail = await mailTo(testbed, "owner@there.test", /quota of 10 emails per hour is used up/);
    assert.match(mail.text ?? "", /Workspace: default/);
    const other = await addTenant(testbed, "Other", "other-sender.test");
    const request = { from: "a@other-sender.test", to: to(20), subject: "s", body: "b", async: true };
    assert.equal((await testbed.call("EmailService/SendEmail", request, { key: other.key })).status, 200);
  });

  it("is exact over two nodes, and a killed node loses no count", async () => {
    const { key } = await addTenant(testbed, "Two nodes", "two.test");
    await limit(testbed, "Two nodes", { emailsPerHour: 60, emailsPerDay: 1000 });
    const second = await testbed.startNode();
    const nodes = [testbed.program, second];
    const request = { from: "a@two.test", to: ["a@there.test"], subject: "s", body: "b", async: true };
    const send = (i: number) => nodes[i % 2]!.call("EmailService/SendEmail", request, { key });
    const first = await Promise.all(Array.from({ length: 40 }, (_, i) => send(i)));
    assert.ok(first.every(({ status }) => status === 200));
    await second.kill();
    const third = await testbed.startNode();
    nodes[1] = third;
    const rest = await Promise.all(Array.from({ length: 60 }, (_, i) => send(i)));
    assert.equal(rest.filter(({ status }) => status === 200).length, 20);
    assert.ok(rest.every(({ status }) => status === 200 || status === 429));
    assert.equal((await getQuotas(testbed, key)).quotas.emails_per_hour!.used, 60);
  });

  it("can be set, shown and reset by the operator, and a wrong value is explained", async () => {
    const shown = await operate(testbed, "workspaces", "show", "default");
    assert.match(shown, /^default {2}active/);
    assert.match(shown, /emails per hour +\d+ +10 +this workspace/);
    assert.match(await operate(testbed, "workspaces", "list"), /ID +CREATED +STATE +EMAILS\/HOUR/);
    const wrong = await tryOperate(testbed, "workspaces", "quota", "default", "--keys", "many");
    assert.deepEqual(
      [wrong.code, wrong.stderr.trim()],
      [2, '--keys must be a number, unlimited or default, not "many"'],
    );
    assert.equal((await tryOperate(testbed, "workspaces", "show", "Nowhere")).code, 2);
    assert.match(
      await operate(testbed, "workspaces", "quota", owner.workspace, "--reset"),
      /emails per hour +\d+ +unlimited +setting/,
    );
    // The commands took longer than a connection stays open, so the first call may find it closed.
    await until(
      "an unlimited workspace",
      async () => (await getQuotas(testbed)).quotas.emails_per_hour!.limit === undefined,
    );
    await accepted(testbed, { to: to(5), async: true });
  });
});

describe("quotas of things", () => {
  it("refuse one more without a time to come back, and say what helps", async () => {
    const { key } = await addTenant(testbed, "Things", "things.test");
    await limit(testbed, "Things", { keys: 2, domains: 1, webhooks: 0, streams: 1 });
    const call = (method: string, request: object) => testbed.call(method, request, { key });
    const newKey = { name: "k", permission: "KEY_PERMISSION_READ" };
    const made = await call("KeyService/CreateKey", newKey);
    assert.equal(made.status, 200);
    const refusals = [
      ["keys", await call("KeyService/CreateKey", newKey)],
      ["domains", await call("DomainService/AddDomain", { domain: "more.test" })],
      ["webhooks", await call("WebhookService/CreateWebhook", { url: "https://example.com/" })],
    ] as const;
    for (const [kind, { status, body }] of refusals) {
      const { code, quota, retryDelay, message } = refusalOf(body);
      assert.deepEqual([status, code, quota, retryDelay], [429, "resource_exhausted", kind, undefined], message);
      assert.match(message, /ask the operator/);
    }
    await call("KeyService/RevokeKey", { id: (made.body.key as { id: string }).id });
    assert.equal((await call("KeyService/CreateKey", newKey)).status, 200, "a revoked key does not count");
    const stream = await openStream(testbed.program.url, { key });
    await stream.until("the first message", ({ messages }) => messages.length > 0);
    const second = await openStream(testbed.program.url, { key });
    assert.equal((await second.ended).code, "resource_exhausted");
    stream.leave();
    await until("a place for the next stream", async () => {
      const next = await openStream(testbed.program.url, { key });
      const isOpen = await next
        .until("a message", ({ messages }) => messages.length > 0)
        .then(
          () => true,
          () => false,
        );
      next.leave();
      return isOpen || undefined;
    });
  });

  it("limit members and open invitations, but not renewed ones", async () => {
    await limit(testbed, "default", { members: 2 });
    const invite = (email: string) =>
      owner.browser.rpc("WorkspaceService/InviteMember", { email, role: "MEMBER_ROLE_VIEWER" }, owner.workspace);
    assert.equal((await invite("one@there.test")).status, 200);
    assert.equal((await invite("one@there.test")).status, 200, "renewed");
    assert.equal(refusalOf((await invite("two@there.test")).body).quota, "members");
    await limit(testbed, "default", { members: undefined });
  });
});

describe("inbound mail over the quota", () => {
  it("gets a temporary reply for the recipients of that workspace only", async () => {
    const { key } = await addTenant(testbed, "Receiver", "receiver.test");
    await enableReceiving(testbed, "receiver.test");
    await limit(testbed, "Receiver", { inboundPerHour: 2 });
    const raw = (n: number) => `From: a@there.test\nSubject: n${n}\nMessage-ID: <n${n}@there.test>\n\nHello ${n}\n`;
    for (const n of [1, 2]) await deliverInbound(testbed, { to: "x@receiver.test", raw: raw(n) });
    await until("the refusal", async () => {
      const answer = await deliverInbound(testbed, { to: "x@receiver.test", raw: raw(3) }).catch(
        (error: Error) => error.message,
      );
      return answer.includes("452 4.2.2") || undefined;
    });
    assert.match(await deliverInbound(testbed, { to: ["x@receiver.test", "y@sender.test"], raw: raw(4) }), /^250/);
    const { quotas } = await getQuotas(testbed, key);
    assert.ok(quotas.inbound_per_hour!.used >= 2 && quotas.inbound_per_hour!.used <= 3);
    assert.equal(quotas.inbound_per_hour!.limit, 2);
    assert.equal((await getQuotas(testbed)).quotas.inbound_per_hour!.used, 1);
  });

  it("is reported to the owners also if the limit is 0", async () => {
    const { workspaceId } = await addTenant(testbed, "Closed", "closed.test");
    await enableReceiving(testbed, "closed.test");
    await limit(testbed, "Closed", { inboundPerHour: 0 });
    const raw = "From: a@there.test\nSubject: zero\nMessage-ID: <zero@there.test>\n\nHello\n";
    await assert.rejects(deliverInbound(testbed, { to: "x@closed.test", raw }), /452 4\.2\.2/);
    const payload = await until("the event", async () => {
      const [row] = await testbed.database.sql<{ payload: Record<string, unknown> }[]>`
        select payload from events where workspace_id = ${workspaceId} and type = 'workspace.quota'`;
      return row?.payload;
    });
    assert.deepEqual([payload.kind, payload.percent, payload.limit], ["QUOTA_KIND_INBOUND_PER_HOUR", 100, 0]);
  });
});

describe("people who come by open sign-up", () => {
  it("get workspaces with the quotas for new ones, and may own few", async () => {
    await openBrowser(testbed.program).post("/auth/sign-up", { email: "nina@there.test" });
    const token = tokenIn((await mailTo(testbed, "nina@there.test", /^Sign up/)).text ?? "");
    const browser = openBrowser(testbed.program);
    assert.equal((await browser.post("/auth/sign-up", { token, name: "Nina", password })).status, 200);
    const create = (name: string) => browser.rpc("WorkspaceService/CreateWorkspace", { name });
    const answers = [await create("N1"), await create("N2"), await create("N3")];
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 429],
    );
    assert.equal(refusalOf(answers[2]!.body).quota, "workspaces");
    assert.match(refusalOf(answers[2]!.body).message, /You own as many workspaces as one person may own \(limit: 2\)/);
    const id = (answers[0]!.body.workspace as { id: string }).id;
    const { body } = await browser.rpc("WorkspaceService/GetQuotas", {}, id);
    const limits = (body.quotas as { kind: string; limit?: number }[]).map(
      ({ kind, limit }) => `${kind.slice(11)} ${limit}`,
    );
    assert.ok(limits.includes("EMAILS_PER_HOUR 3") && limits.includes("DOMAINS 1"), limits.join());
    assert.equal((await browser.rpc("DomainService/AddDomain", { domain: "a.test" }, id)).status, 200);
    assert.equal(
      refusalOf((await browser.rpc("DomainService/AddDomain", { domain: "b.test" }, id)).body).quota,
      "domains",
    );
    assert.match(await operate(testbed, "workspaces", "show", "N1"), /from open sign-up/);
  });

  it("are other people than the owners of an established workspace", async () => {
    const created = await owner.browser.rpc("WorkspaceService/CreateWorkspace", { name: "Second" });
    const id = (created.body.workspace as { id: string }).id;
    const { body } = await owner.browser.rpc("WorkspaceService/GetQuotas", {}, id);
    const [hour] = body.quotas as { limit?: number }[];
    assert.equal(hour!.limit, undefined);
  });
});

describe("workspaces from before quotas", () => {
  it("are not new, and have no limits but the defaults", async () => {
    const { sql } = testbed.database;
    const [row] = await sql<{ fromSignUp: boolean; quota: object; suspendedAt: null }[]>`
      insert into workspaces (id, name) values (gen_random_uuid(), 'Old')
      returning from_sign_up as "fromSignUp", quota, suspended_at as "suspendedAt"`;
    assert.deepEqual(row, { fromSignUp: false, quota: {}, suspendedAt: null });
  });
});
