/** webhooks.*: signatures against the Standard Webhooks library, both handlers on real servers, the API methods. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { Webhook as Standard } from "standardwebhooks";
import { WebhookService } from "../../src/gen/v1/webhook_pb.ts";
import {
  type Event,
  type EventOf,
  fetchWebhookHandler,
  nodeWebhookHandler,
  type PosthornError,
  signTestPayload,
  verifyWebhook,
} from "../src/index.ts";
import { rejection, startPeer } from "./peer.ts";

const secret = `whsec_${Buffer.from("a secret of twenty-four bytes or so").toString("base64")}`;
const example = await readFile(new URL("../../proto/examples/events/email.bounced.json", import.meta.url), "utf8");
const event = JSON.parse(example) as EventOf<"email.bounced">;

test("a webhook signed by the Standard Webhooks library is accepted, with any type of body and headers", async () => {
  const now = new Date();
  const headers = {
    "webhook-id": event.id,
    "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
    "webhook-signature": new Standard(secret).sign(event.id, now, example),
  };
  const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]));
  for (const body of [example, Buffer.from(example), new TextEncoder().encode(example).buffer]) {
    for (const form of [headers, new Headers(headers), upper]) {
      assert.deepEqual(await verifyWebhook(body, form, secret), event);
    }
  }
});

test("a payload signed by signTestPayload is accepted by the Standard Webhooks library", async () => {
  const { body, headers } = await signTestPayload(event, secret);
  assert.deepEqual(new Standard(secret).verify(body, headers), event);
  assert.equal(headers["webhook-id"], event.id);
  const text = await signTestPayload('{"id":"evt_2"}', secret, { id: "evt_2" });
  assert.deepEqual(new Standard(secret).verify(text.body, text.headers), { id: "evt_2" });
});

test("after a rotation one matching signature of two is enough", async () => {
  const old = await signTestPayload(event, `whsec_${btoa("another secret, which was before")}`);
  const { body, headers } = await signTestPayload(event, secret);
  const both = `v1a,unknown ${old.headers["webhook-signature"]} ${headers["webhook-signature"]}`;
  assert.deepEqual(await verifyWebhook(body, { ...headers, "webhook-signature": both }, secret), event);
});

test("forged, altered, old and incompletely signed webhooks are rejected", async () => {
  const { body, headers } = await signTestPayload(event, secret);
  const stale = await signTestPayload(event, secret, { timestamp: new Date(Date.now() - 301_000) });
  const future = await signTestPayload(event, secret, { timestamp: new Date(Date.now() + 302_000) });
  const without = (name: string) => ({ ...headers, [name]: undefined });
  const rejected: [body: string, headers: object, message: RegExp][] = [
    [body.replace("ada", "eve"), headers, /does not match/],
    [JSON.stringify(JSON.parse(body), null, 1), headers, /exactly as it arrived/],
    [body, { ...headers, "webhook-id": "evt_other" }, /does not match/],
    [body, { ...headers, "webhook-signature": "v1,!!!" }, /does not match/],
    [body, { ...headers, "webhook-signature": headers["webhook-signature"].replace("v1", "v2") }, /does not match/],
    [body, { ...headers, "webhook-timestamp": "soon" }, /not a number/],
    [stale.body, stale.headers, /by 30\d seconds/],
    [future.body, future.headers, /by 30\d seconds/],
    [body, without("webhook-signature"), /webhook-signature is missing/],
    [body, without("webhook-id"), /webhook-id is missing/],
  ];
  for (const [text, sentHeaders, message] of rejected) {
    const error = await rejection<PosthornError>(verifyWebhook(text, sentHeaders as typeof headers, secret));
    assert.equal(error.code, "unauthenticated");
    assert.match(error.message, message);
  }
  assert.deepEqual(await verifyWebhook(stale.body, stale.headers, secret, { toleranceSeconds: 3600 }), event);
});

test("a forged webhook with thousands of signatures hashes the body once", async (t) => {
  const { body, headers } = await signTestPayload(event, secret);
  const forged = Array.from({ length: 3000 }, () => "v1,AAAA").join(" ");
  const sign = t.mock.method(crypto.subtle, "sign");
  const verify = t.mock.method(crypto.subtle, "verify");
  const error = await rejection<PosthornError>(
    verifyWebhook(body, { ...headers, "webhook-signature": forged }, secret),
  );
  assert.equal(error.code, "unauthenticated");
  assert.ok(sign.mock.callCount() + verify.mock.callCount() <= 2);
  const last = `${forged} ${headers["webhook-signature"]}`;
  assert.deepEqual(await verifyWebhook(body, { ...headers, "webhook-signature": last }, secret), event);
});

test("a parsed body and a malformed secret are invalid arguments", async () => {
  const { headers } = await signTestPayload(event, secret);
  const parsed = await rejection<PosthornError>(verifyWebhook(event as never, headers, secret));
  assert.match(parsed.message, /seems to be parsed already/);
  for (const bad of ["", "whsec_", "whsec_%%%", undefined as never]) {
    assert.equal((await rejection<PosthornError>(verifyWebhook("{}", headers, bad))).code, "invalid_argument");
  }
});

interface Received {
  seen: string[];
  errors: string[];
  options: Parameters<typeof fetchWebhookHandler>[0];
}

function recorder(): Received {
  const seen: string[] = [];
  const errors: string[] = [];
  return {
    seen,
    errors,
    options: {
      secret,
      maxBytes: 10_000,
      onBounced({ bounced }) {
        if (bounced.category === "fault") throw new Error("the shop is closed");
        seen.push(`onBounced ${bounced.recipients}`);
      },
      onEvent: ({ type }) => void seen.push(`onEvent ${type}`),
      onError: (error, event) => void errors.push(`${event?.id ?? "-"} ${(error as Error).message}`),
    },
  };
}

async function listen(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function testHandler(received: Received, request: (init: RequestInit) => Promise<Response>): Promise<void> {
  const good = await signTestPayload(event, secret);
  assert.equal((await request({ method: "POST", ...good })).status, 204);
  assert.deepEqual(received.seen, ["onBounced ada@example.net", "onEvent email.bounced"]);
  const faulty = { ...event, bounced: { ...event.bounced, category: "fault" } } satisfies Event;
  const failed = await request({ method: "POST", ...(await signTestPayload(faulty, secret)) });
  assert.equal(failed.status, 500);
  assert.doesNotMatch(await failed.text(), /shop/, "the response does not contain the handler's error");
  const forged = await request({ method: "POST", ...good, body: `${good.body} ` });
  assert.equal(forged.status, 401);
  assert.equal((await request({ method: "GET" })).status, 405);
  assert.equal(received.seen.length, 2);
  assert.match(received.errors[0]!, /^evt_\S+ the shop is closed$/);
  assert.match(received.errors[1]!, /^- The signature does not match/);
}

test("the handler for Request and Response verifies and dispatches", async () => {
  const received = recorder();
  const handler = fetchWebhookHandler(received.options);
  await testHandler(received, (init) => handler(new Request("https://app.example/hooks", init)));
  const long = await handler(new Request("https://app.example", { method: "POST", body: "x".repeat(10_001) }));
  assert.equal(long.status, 413);
});

test("the handler for node:http verifies and dispatches", async (t) => {
  const received = recorder();
  const url = await listen(t, nodeWebhookHandler(received.options));
  await testHandler(received, (init) => fetch(url, init));
});

test("after a body parser the raw body is used, and a parsed body is reported", async (t) => {
  const received = recorder();
  const handler = nodeWebhookHandler(received.options);
  const url = await listen(t, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const raw = Buffer.concat(chunks);
    const parsed = {
      "/raw": { body: raw },
      "/kept": { rawBody: raw, body: {} },
      "/parsed": { body: JSON.parse(`${raw}`) },
    };
    await handler(Object.assign(request, parsed[request.url as keyof typeof parsed]), response);
  });
  const { body, headers } = await signTestPayload(event, secret);
  const post = async (path: string) => (await fetch(url + path, { method: "POST", body, headers })).status;
  assert.deepEqual([await post("/raw"), await post("/kept")], [204, 204]);
  assert.equal(await post("/parsed"), 500);
  assert.match(received.errors[0]!, /seems to be parsed already/);
});

test("webhooks are created, changed, listed, tested and deleted", async (t) => {
  const { client, close } = await startPeer({
    routes: (router) =>
      router.service(WebhookService, {
        createWebhook: ({ url, eventTypes }) => ({ webhook: { id: "wh_1", url, eventTypes }, signingSecret: secret }),
        getWebhook: ({ id }) => ({ webhook: { id } }),
        listWebhooks: ({ pageToken }) => ({
          data: [{ id: `wh_${pageToken || 1}` }],
          nextPageToken: pageToken ? "" : "2",
        }),
        updateWebhook: ({ id, enabled, url }) => ({
          webhook: { id, status: enabled ? 1 : 2, url: url ?? "unchanged" },
        }),
        deleteWebhook: ({ id }) => ({ message: `deleted ${id}` }),
        rotateWebhookSecret: () => ({ signingSecret: "whsec_new" }),
        listWebhookDeliveries: ({ webhookId, status }) => ({ data: [{ id: "whd_1", webhookId, status }] }),
        redeliverWebhook: ({ fromCursor, toCursor }) => ({ scheduled: Number(toCursor) - Number(fromCursor) + 1 }),
        sendTestWebhook: ({ id, eventType }) => ({ delivery: { webhookId: id, eventType, responseStatus: 204 } }),
      }),
  });
  t.after(close);
  const { webhooks } = client;
  const created = await webhooks.create({ url: "https://app.example/hooks", eventTypes: ["email.bounced"] });
  assert.equal(created.signingSecret, secret);
  assert.deepEqual(created.webhook.eventTypes, ["email.bounced"]);
  assert.equal((await webhooks.get("wh_1")).id, "wh_1");
  const ids: string[] = [];
  for await (const { id } of webhooks.list()) ids.push(id);
  assert.deepEqual(ids, ["wh_1", "wh_2"]);
  const changed = await webhooks.update("wh_1", { enabled: false });
  assert.deepEqual([changed.status, changed.url], ["WEBHOOK_STATUS_DISABLED", "unchanged"]);
  assert.equal((await webhooks.rotateSecret("wh_1")).signingSecret, "whsec_new");
  const failed = await webhooks.deliveries("wh_1", { status: "WEBHOOK_DELIVERY_STATUS_FAILED" });
  assert.equal(failed.data[0]!.status, "WEBHOOK_DELIVERY_STATUS_FAILED");
  assert.equal((await webhooks.redeliver("wh_1", { fromCursor: "3", toCursor: "9" })).scheduled, 7);
  assert.equal((await webhooks.sendTest("wh_1", "email.bounced")).eventType, "email.bounced");
  assert.equal((await webhooks.delete("wh_1")).message, "deleted wh_1");
});
