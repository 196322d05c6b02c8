/** webhooks.*: signatures against the Standard Webhooks library, both endpoints on real servers, the API's methods. */
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

test("what the standard library signs is accepted, as text, bytes or with any kind of headers", async () => {
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

test("what we sign is accepted by the standard library", async () => {
  const { body, headers } = await signTestPayload(event, secret);
  assert.deepEqual(new Standard(secret).verify(body, headers), event);
  assert.equal(headers["webhook-id"], event.id);
  const text = await signTestPayload('{"id":"evt_2"}', secret, { id: "evt_2" });
  assert.deepEqual(new Standard(secret).verify(text.body, text.headers), { id: "evt_2" });
});

test("after a rotation either of two signatures is enough", async () => {
  const old = await signTestPayload(event, `whsec_${btoa("another secret, which was before")}`);
  const { body, headers } = await signTestPayload(event, secret);
  const both = `v1a,unknown ${old.headers["webhook-signature"]} ${headers["webhook-signature"]}`;
  assert.deepEqual(await verifyWebhook(body, { ...headers, "webhook-signature": both }, secret), event);
});

test("forged, altered, old and half-signed webhooks are refused", async () => {
  const { body, headers } = await signTestPayload(event, secret);
  const stale = await signTestPayload(event, secret, { timestamp: new Date(Date.now() - 301_000) });
  const future = await signTestPayload(event, secret, { timestamp: new Date(Date.now() + 302_000) });
  const without = (name: string) => ({ ...headers, [name]: undefined });
  const refused: [body: string, headers: object, said: RegExp][] = [
    [body.replace("ada", "eve"), headers, /does not fit/],
    [JSON.stringify(JSON.parse(body), null, 1), headers, /exactly as it arrived/],
    [body, { ...headers, "webhook-id": "evt_other" }, /does not fit/],
    [body, { ...headers, "webhook-signature": "v1,!!!" }, /does not fit/],
    [body, { ...headers, "webhook-signature": headers["webhook-signature"].replace("v1", "v2") }, /does not fit/],
    [body, { ...headers, "webhook-timestamp": "soon" }, /no number/],
    [stale.body, stale.headers, /30\d seconds away/],
    [future.body, future.headers, /30\d seconds away/],
    [body, without("webhook-signature"), /webhook-signature is missing/],
    [body, without("webhook-id"), /webhook-id is missing/],
  ];
  for (const [text, given, said] of refused) {
    const error = await rejection<PosthornError>(verifyWebhook(text, given as typeof headers, secret));
    assert.equal(error.code, "unauthenticated");
    assert.match(error.message, said);
  }
  assert.deepEqual(await verifyWebhook(stale.body, stale.headers, secret, { toleranceSeconds: 3600 }), event);
});

test("a parsed body and a wrong secret are the caller's mistakes", async () => {
  const { headers } = await signTestPayload(event, secret);
  const parsed = await rejection<PosthornError>(verifyWebhook(event as never, headers, secret));
  assert.match(parsed.message, /looks parsed already/);
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

async function playAll(received: Received, ask: (init: RequestInit) => Promise<Response>): Promise<void> {
  const good = await signTestPayload(event, secret);
  assert.equal((await ask({ method: "POST", ...good })).status, 204);
  assert.deepEqual(received.seen, ["onBounced ada@example.net", "onEvent email.bounced"]);
  const faulty = { ...event, bounced: { ...event.bounced, category: "fault" } } satisfies Event;
  const failed = await ask({ method: "POST", ...(await signTestPayload(faulty, secret)) });
  assert.equal(failed.status, 500);
  assert.doesNotMatch(await failed.text(), /shop/, "what went wrong inside is not told outside");
  const forged = await ask({ method: "POST", ...good, body: `${good.body} ` });
  assert.equal(forged.status, 401);
  assert.equal((await ask({ method: "GET" })).status, 405);
  assert.equal(received.seen.length, 2);
  assert.match(received.errors[0]!, /^evt_\S+ the shop is closed$/);
  assert.match(received.errors[1]!, /^- The signature does not fit/);
}

test("the handler for Request and Response", async () => {
  const received = recorder();
  const handler = fetchWebhookHandler(received.options);
  await playAll(received, (init) => handler(new Request("https://app.example/hooks", init)));
  const long = await handler(new Request("https://app.example", { method: "POST", body: "x".repeat(10_001) }));
  assert.equal(long.status, 413);
});

test("the handler for Node's own server", async (t) => {
  const received = recorder();
  const url = await listen(t, nodeWebhookHandler(received.options));
  await playAll(received, (init) => fetch(url, init));
});

test("behind a body parser the raw body is taken, a parsed one is told about", async (t) => {
  const received = recorder();
  const handler = nodeWebhookHandler(received.options);
  const url = await listen(t, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const raw = Buffer.concat(chunks);
    const left = {
      "/raw": { body: raw },
      "/kept": { rawBody: raw, body: {} },
      "/parsed": { body: JSON.parse(`${raw}`) },
    };
    await handler(Object.assign(request, left[request.url as keyof typeof left]), response);
  });
  const { body, headers } = await signTestPayload(event, secret);
  const post = async (path: string) => (await fetch(url + path, { method: "POST", body, headers })).status;
  assert.deepEqual([await post("/raw"), await post("/kept")], [204, 204]);
  assert.equal(await post("/parsed"), 500);
  assert.match(received.errors[0]!, /looks parsed already/);
});

test("webhooks are made, changed, listed, tried and deleted", async (t) => {
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
  const made = await webhooks.create({ url: "https://app.example/hooks", eventTypes: ["email.bounced"] });
  assert.equal(made.signingSecret, secret);
  assert.deepEqual(made.webhook.eventTypes, ["email.bounced"]);
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
