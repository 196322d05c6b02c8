/** Limits of keys on every path: client addresses, sending domains, recipients and the end, for calls, streams and batches. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Code, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { EmailService } from "../../src/gen/v1/email_pb.ts";
import { addTenant, limit } from "../harness/quotas.ts";
import { openStream } from "../harness/streams.ts";
import { addSendingDomain, startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed({ env: { POSTHORN_TRUSTED_PROXIES: "127.0.0.1/32" } });
  for (const domain of ["second.test", "third.test"])
    await addSendingDomain(testbed.database.sql, testbed.workspaceId, domain);
});
after(async () => await testbed?.stop());

type WireKey = {
  id: string;
  domain: string;
  domains: string[];
  allowedAddresses: string[];
  allowedRecipients: string[];
  lastUsedAt?: string;
  lastUsedAddress: string;
  expiresAt?: string;
};

async function create(request: object): Promise<{ key: WireKey; secret: string }> {
  const wanted = { name: "k", permission: "KEY_PERMISSION_FULL", ...request };
  const { status, body } = await testbed.call("KeyService/CreateKey", wanted);
  assert.equal(status, 200, JSON.stringify(body));
  return body as unknown as { key: WireKey; secret: string };
}

const update = async (id: string, request: object) => {
  const { status, body } = await testbed.call("KeyService/UpdateKey", { id, ...request });
  assert.equal(status, 200, JSON.stringify(body));
  return body.key as WireKey;
};
const show = async (id: string) =>
  ((await testbed.call("KeyService/ListKeys", { pageSize: 100 })).body.data as WireKey[]).find((key) => key.id === id)!;
const emailCount = async () =>
  (await testbed.database.sql<{ count: number }[]>`select count(*)::int as count from emails`)[0]!.count;
const email = { from: "a@sender.test", to: ["a@there.test"], subject: "s", body: "b", async: true };
const from = (address: string) => ({ "x-forwarded-for": address });

test("a key with allowed addresses works only from them, over every protocol", async () => {
  const { key, secret } = await create({ allowedAddresses: ["198.51.100.9/24", "2001:db8::/48"] });
  assert.deepEqual(key.allowedAddresses, ["198.51.100.0/24", "2001:db8::/48"]);
  const call = (address: string) => testbed.call("KeyService/ListKeys", {}, { key: secret, headers: from(address) });
  for (const address of ["198.51.100.1", "::ffff:198.51.100.1", "2001:db8:0:1::5", "203.0.113.9, 198.51.100.7"])
    assert.equal((await call(address)).status, 200, address);
  const refused = await call("203.0.113.7");
  assert.deepEqual([refused.status, refused.body.code], [403, "permission_denied"]);
  assert.match(refused.body.message as string, /from the address 203\.0\.113\.7\. .*UpdateKey/);
  assert.equal((await call("198.51.100.1, 203.0.113.7")).status, 403, "a client cannot forge its address");
  assert.equal((await testbed.call("KeyService/ListKeys", {}, { key: secret })).status, 403, "the proxy itself");

  const options = { baseUrl: testbed.program.url, httpVersion: "2" } as const;
  for (const transport of [createGrpcTransport(options), createConnectTransport(options)]) {
    const client = createClient(EmailService, transport);
    const send = (address: string) =>
      client.sendEmail(email, { headers: { authorization: `Bearer ${secret}`, ...from(address) } });
    await assert.rejects(send("203.0.113.7"), { code: Code.PermissionDenied });
    assert.ok((await send("198.51.100.7")).id);
  }
  for (const form of ["lines", "sse", "connect"] as const) {
    const open = (address: string) =>
      openStream(testbed.program.url, { key: secret, form, headers: from(address), request: { follow: false } });
    assert.equal((await (await open("203.0.113.7")).ended).code, "permission_denied", form);
    assert.equal((await (await open("198.51.100.7")).ended).code, "ok", form);
  }
});

test("the last use shows the client's address, and a refused call is no use", async () => {
  const { key, secret } = await create({ allowedAddresses: ["198.51.100.0/24"] });
  await testbed.call("KeyService/ListKeys", {}, { key: secret, headers: from("203.0.113.7") });
  await testbed.call("KeyService/ListKeys", {}, { key: secret, headers: from("::ffff:198.51.100.77") });
  const used = await until("the last use", async () => {
    const shown = await show(key.id);
    return shown.lastUsedAt ? shown : undefined;
  });
  assert.equal(used.lastUsedAddress, "198.51.100.77");
});

test("a key with allowed recipients refuses the whole email for one other recipient, in To, Cc and Bcc", async () => {
  const { secret } = await create({
    permission: "KEY_PERMISSION_SEND",
    allowedRecipients: ["QA@there.test", "other.test", "*.staging.test"],
  });
  const send = (request: object) => testbed.call("EmailService/SendEmail", { ...email, ...request }, { key: secret });
  const before = await emailCount();
  const cases: [object, string][] = [
    [{ to: ["qa@there.test", "boss@there.test"] }, "boss@there.test"],
    [{ to: ["qa@there.test"], cc: ["Boss <boss@there.test>"] }, "boss@there.test"],
    [{ to: ["qa@there.test"], bcc: ["a@sub.other.test"] }, "a@sub.other.test"],
    [{ to: ["a@staging.test"] }, "a@staging.test"],
  ];
  for (const [request, recipient] of cases) {
    const { status, body } = await send(request);
    assert.deepEqual([status, body.code], [403, "permission_denied"], JSON.stringify(body));
    assert.ok((body.message as string).startsWith(`This key may not send to ${recipient}. `), body.message as string);
  }
  assert.equal(await emailCount(), before, "nothing is stored");
  const allowed = { to: ["qa@THERE.test"], cc: ["any@other.test"], bcc: ["x@a.staging.test"] };
  assert.equal((await send(allowed)).status, 200);

  const batch = { emails: [{ ...email, to: ["qa@there.test"] }, email, { ...email, to: ["z@other.test"] }] };
  const answer = await testbed.call("EmailService/SendEmailBatch", batch, { key: secret });
  const results = answer.body.data as { id: string; error?: { code: string; message: string } }[];
  assert.deepEqual(
    results.map(({ error }) => error?.code),
    [undefined, "permission_denied", undefined],
  );
  assert.equal(await emailCount(), before + 3);
});

test("a key with several domains sends from each of them and from no other", async () => {
  const { key, secret } = await create({
    permission: "KEY_PERMISSION_SEND",
    domains: ["second.test", "Third.test."],
  });
  assert.deepEqual([key.domain, key.domains], ["", ["second.test", "third.test"]]);
  const send = async (name: string) =>
    (await testbed.call("EmailService/SendEmail", { ...email, from: `a@${name}` }, { key: secret })).status;
  assert.deepEqual([await send("second.test"), await send("third.test"), await send("sender.test")], [200, 200, 403]);
  const one = await update(key.id, { domains: ["sender.test"] });
  assert.deepEqual([one.domain, one.domains], ["sender.test", ["sender.test"]]);
  assert.deepEqual([await send("second.test"), await send("sender.test")], [403, 200]);
  const any = await update(key.id, { domains: ["*"] });
  assert.deepEqual([any.domain, any.domains], ["", []]);
  assert.equal(await send("second.test"), 200);

  const old = await create({ permission: "KEY_PERMISSION_SEND", domain: "second.test" });
  assert.deepEqual([old.key.domain, old.key.domains], ["second.test", ["second.test"]]);
  const foreign = await testbed.call("KeyService/UpdateKey", { id: key.id, domains: ["unknown.test"] });
  assert.equal(foreign.body.code, "failed_precondition");
  assert.match(foreign.body.message as string, /"unknown\.test" is not a domain/);
});

test("an expired key is refused with the time, and only to a caller that has its secret", async () => {
  const { key, secret } = await create({ expiresAt: new Date(Date.now() + 3_600_000).toISOString() });
  const streams = await Promise.all(
    (["lines", "connect"] as const).map((form) => openStream(testbed.program.url, { key: secret, form })),
  );
  for (const stream of streams) await stream.until("the first message", ({ messages }) => messages.length > 0);
  const [row] = await testbed.database.sql<{ at: Date }[]>`
    update keys set expires_at = wall_time() - interval '1 second' where id = ${key.id.slice(4)} returning expires_at as at`;
  const refused = await testbed.call("EmailService/SendEmail", email, { key: secret });
  assert.deepEqual([refused.status, refused.body.code], [401, "unauthenticated"]);
  assert.ok((refused.body.message as string).includes(`expired at ${row!.at.toISOString()}`));
  const forged = await testbed.call("EmailService/SendEmail", email, { key: `${secret.slice(0, -4)}zzzz` });
  assert.doesNotMatch(forged.body.message as string, /expired/);
  for (const stream of streams) assert.equal((await stream.ended).code, "unauthenticated");
  await update(key.id, { neverExpires: true });
  assert.equal((await testbed.call("EmailService/SendEmail", email, { key: secret })).status, 200);
});

test("a stream ends when the scopes or addresses of its key change, and a new one meets the new limits", async () => {
  const { key, secret } = await create({
    permission: undefined,
    scopes: ["KEY_SCOPE_EVENTS", "KEY_SCOPE_STATS"],
  });
  const stream = await openStream(testbed.program.url, { key: secret });
  await stream.until("the first message", ({ messages }) => messages.length > 0);
  await update(key.id, { scopes: ["KEY_SCOPE_STATS"] });
  assert.equal((await stream.ended).code, "unavailable");
  const next = await openStream(testbed.program.url, { key: secret });
  assert.equal((await next.ended).code, "permission_denied");
});

test("wrong limits are named, all at once", async () => {
  const { status, body } = await testbed.call("KeyService/CreateKey", {
    name: "",
    permission: "KEY_PERMISSION_SEND",
    domain: "second.test",
    domains: ["third.test"],
    allowedAddresses: ["10.0.0.0/8", "010.0.0.1"],
    allowedRecipients: ["nobody"],
    expiresAt: "2020-01-01T00:00:00Z",
  });
  assert.equal(status, 400);
  const detail = (body.details as { debug: { fieldViolations: { field: string }[] } }[])[0]!.debug;
  assert.deepEqual(
    detail.fieldViolations.map(({ field }) => field),
    ["name", "domain", "domains", "allowedRecipients[0]", "allowedAddresses[1]", "expiresAt"],
  );
});

test("expired keys do not count for the quota", async () => {
  const { key, workspaceId } = await addTenant(testbed, "Few keys", "few.test");
  await limit(testbed, "Few keys", { keys: 2 });
  const ask = () => testbed.call("KeyService/CreateKey", { name: "k", permission: "KEY_PERMISSION_READ" }, { key });
  assert.equal((await ask()).status, 200);
  assert.equal((await ask()).status, 429);
  await testbed.database
    .sql`update keys set expires_at = wall_time() - interval '1 second' where workspace_id = ${workspaceId}
    and permission = 'read'`;
  assert.equal((await ask()).status, 200);
});
