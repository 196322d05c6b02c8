/** A key with scopes calls the methods of its scopes and no others, over every protocol. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { KeyScope } from "../../src/gen/v1/options_pb.ts";
import { connectCall } from "../harness/connect-call.ts";
import { allMethods, nameOf, policyOf } from "../harness/contract.ts";
import { accepted } from "../harness/sending.ts";
import { startWebhookTestbed, type WebhookTestbed } from "../harness/webhook-testbed.ts";

const methods = await allMethods();
const names: (keyof typeof KeyScope)[] = [
  "SEND",
  "EMAILS",
  "EVENTS",
  "INBOUND",
  "DOMAINS",
  "WEBHOOKS",
  "SUPPRESSIONS",
  "STATS",
  "AUDIT",
  "MANAGE",
];
let testbed: WebhookTestbed;
before(async () => {
  testbed = await startWebhookTestbed();
});
after(async () => await testbed?.stop());

async function create(scopes: string[], request: object = {}): Promise<{ id: string; secret: string }> {
  const wanted = { name: scopes.join(), scopes: scopes.map((scope) => `KEY_SCOPE_${scope}`), ...request };
  const { status, body } = await testbed.call("KeyService/CreateKey", wanted);
  assert.equal(status, 200, JSON.stringify(body));
  return { id: (body.key as { id: string }).id, secret: body.secret as string };
}

test("each scope opens exactly its methods", async () => {
  const keys = new Map<keyof typeof KeyScope, string>();
  for (const name of names) keys.set(name, (await create([name])).secret);
  let allowedCalls = 0;
  for (const method of methods) {
    const allowed = names.filter((name) => policyOf(method).scopes.includes(KeyScope[name]));
    for (const [name, key] of keys) {
      const { code, message } = await connectCall(testbed.program.url, method, {}, { key });
      const what = `${nameOf(method)} with ${name}: ${code} ${message}`;
      if (allowed.includes(name)) {
        assert.ok(!["permission_denied", "unauthenticated"].includes(code), what);
        allowedCalls++;
      } else {
        assert.equal(code, "permission_denied", what);
        assert.match(
          message,
          new RegExp(`this key has the scopes ${name.toLowerCase()}|signed in to the dashboard|needs an operator`),
        );
      }
    }
  }
  assert.ok(allowedCalls >= 45, String(allowedCalls));
});

test("a key has a permission or scopes, and scopes must be known", async () => {
  const ask = async (request: object) => {
    const { status, body } = await testbed.call("KeyService/CreateKey", { name: "k", ...request });
    assert.equal(status, 400, JSON.stringify(body));
    return body as { code: string; message: string };
  };
  const both = await ask({ permission: "KEY_PERMISSION_SEND", scopes: ["KEY_SCOPE_SEND"] });
  assert.match(both.message, /^permission: .*not both; scopes: .*not both$/);
  assert.match((await ask({})).message, /permission: must be/);
  assert.match(
    (await ask({ scopes: ["KEY_SCOPE_UNSPECIFIED"] })).message,
    /scopes\[0\]: must be one of KEY_SCOPE_SEND/,
  );
  const cannotSend = await ask({
    scopes: ["KEY_SCOPE_STATS"],
    domains: ["sender.test"],
    allowedRecipients: ["a.test"],
  });
  assert.match(cannotSend.message, /domains: is allowed only .*allowedRecipients: is allowed only/);
  await ask({ permission: "KEY_PERMISSION_READ", allowedRecipients: ["a.test"] });
});

test("the wire shows scopes and no permission, so that earlier clients meet no unknown value", async () => {
  const { id } = await create(["MANAGE", "STATS", "MANAGE"]);
  const { body } = await testbed.call("KeyService/ListKeys", {});
  const key = (body.data as { id: string; permission: string; scopes: string[] }[]).find((one) => one.id === id)!;
  assert.equal(key.permission, "KEY_PERMISSION_UNSPECIFIED");
  assert.deepEqual(key.scopes, ["KEY_SCOPE_STATS", "KEY_SCOPE_MANAGE"]);
});

test("the scope send reads its own emails only, and emails reads all with content", async () => {
  const [sender, reader] = [await create(["SEND"]), await create(["EMAILS"])];
  const theirs = await accepted(testbed, {});
  const request = { from: "a@sender.test", to: ["b@there.test"], subject: "s", body: "b", async: true };
  const sent = await testbed.call("EmailService/SendEmail", request, { key: sender.secret });
  assert.equal(sent.status, 200, JSON.stringify(sent.body));
  const read = async (key: string, id: unknown, method = "GetEmail") =>
    (await testbed.call(`EmailService/${method}`, { id }, { key })).status;
  assert.equal(await read(sender.secret, sent.body.id), 200);
  assert.equal(await read(sender.secret, theirs), 404);
  for (const id of [sent.body.id, theirs]) {
    assert.equal(await read(reader.secret, id), 200);
    assert.equal(await read(reader.secret, id, "GetEmailContent"), 200);
  }
  assert.equal((await testbed.call("EmailService/SendEmail", request, { key: reader.secret })).status, 403);
});

test("payloads of webhook deliveries are events, so they need the scopes events and inbound too", async () => {
  const webhook = await testbed.createWebhook();
  await accepted(testbed, {});
  await testbed.untilDeliveries("a delivery", webhook.id, (all) => all.length > 0);
  const payloads = async (...scopes: string[]) => {
    const { secret } = await create(scopes);
    const { body } = await testbed.call(
      "WebhookService/ListWebhookDeliveries",
      { webhookId: webhook.id },
      { key: secret },
    );
    return (body.data as { payload: string }[]).filter(({ payload }) => payload !== "").length;
  };
  assert.equal(await payloads("WEBHOOKS"), 0);
  assert.equal(await payloads("WEBHOOKS", "INBOUND"), 0);
  assert.notEqual(await payloads("WEBHOOKS", "EVENTS", "INBOUND"), 0);
});
