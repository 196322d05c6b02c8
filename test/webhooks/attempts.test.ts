/** Every attempt of a delivery can be read, with what was sent and what the endpoint answered. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted } from "../harness/sending.ts";
import { startWebhookTestbed, verifies, type WebhookTestbed, type WireDelivery } from "../harness/webhook-testbed.ts";

type WireAttempt = {
  number: number;
  attemptedAt: string;
  durationMs: number;
  url: string;
  requestHeaders: string;
  responseStatus: number;
  responseHeaders: string;
  responseBody: string;
  error: string;
};

let testbed: WebhookTestbed;
before(async () => {
  testbed = await startWebhookTestbed();
});
after(async () => await testbed.stop());

const attemptsOf = async ({ webhookId, id }: WireDelivery) =>
  (await testbed.ask("ListWebhookAttempts", { webhookId, deliveryId: id })).data as WireAttempt[];

test("a delivery that failed twice shows three attempts, and their headers verify the body", async () => {
  const { receiver } = testbed;
  receiver.script = ({ seen }) => (seen <= 2 ? { status: 500, headers: { "x-try": "1" }, body: "not now" } : 204);
  const webhook = await testbed.createWebhook();
  await accepted(testbed, {});
  const [delivery] = await testbed.untilDeliveries("the delivery", webhook.id, ([one]) => one?.settledAt !== undefined);
  const attempts = await attemptsOf(delivery!);
  assert.deepEqual(
    attempts.map(({ number, responseStatus, responseBody, error, url }) => [
      number,
      responseStatus,
      responseBody,
      error,
      url,
    ]),
    [
      [3, 204, "", "", webhook.url],
      [2, 500, "not now", "the endpoint answered 500", webhook.url],
      [1, 500, "not now", "the endpoint answered 500", webhook.url],
    ],
  );
  const page = async (pageToken: string) => {
    const body = await testbed.ask("ListWebhookAttempts", {
      webhookId: webhook.id,
      deliveryId: delivery!.id,
      pageSize: 2,
      pageToken,
    });
    return [(body.data as WireAttempt[]).map(({ number }) => number), body.nextPageToken];
  };
  assert.deepEqual(
    [await page(""), await page("2")],
    [
      [[3, 2], "2"],
      [[1], ""],
    ],
  );
  assert.match(attempts[1]!.responseHeaders, /^HTTP\/1\.1 500 .*\nx-try: 1\n/);
  for (const { requestHeaders } of attempts) {
    const headers = Object.fromEntries(requestHeaders.split("\n").map((line) => line.split(": ")));
    assert.ok(verifies({ body: delivery!.payload, headers }, webhook.secret));
    assert.ok(!requestHeaders.includes(webhook.secret.slice(6)));
  }
});

test("a test event has one attempt, and a long response is truncated", async () => {
  testbed.receiver.script = () => ({ status: 200, body: "x".repeat(50_000) });
  const { id } = await testbed.createWebhook();
  const { delivery } = await testbed.ask("SendTestWebhook", { id });
  const [attempt, ...others] = await attemptsOf(delivery as WireDelivery);
  assert.deepEqual(others, []);
  assert.equal(attempt!.responseBody.length, 4096);
});

test("hostile responses are stored as text, for every attempt of the delivery", async () => {
  const replies = [
    Buffer.concat([
      Buffer.from("HTTP/1.1 500 No\r\nX-Byte: \xff\r\nConnection: close\r\n\r\n", "latin1"),
      Buffer.alloc(9000, 0xc3),
    ]),
    Buffer.from(`HTTP/1.1 500 No\r\nX-Long: ${"x".repeat(100_000)}\r\n\r\n`),
    Buffer.from("HTTP/1.1 500 No\r\nConnection: close\r\n\r\n<script>\0\x1b[2J\u202e</script>"),
  ];
  testbed.receiver.script = ({ path, seen }) =>
    path === "/hostile" && seen <= replies.length ? { raw: replies[seen - 1]! } : 204;
  const webhook = await testbed.createWebhook({ url: `${testbed.receiver.url}/hostile` });
  await accepted(testbed, {});
  const [delivery] = await testbed.untilDeliveries("the delivery", webhook.id, ([one]) => one?.settledAt !== undefined);
  assert.equal(delivery!.status, "WEBHOOK_DELIVERY_STATUS_DELIVERED");
  const [, text, long, binary] = await attemptsOf(delivery!);
  assert.equal(binary!.responseBody, "\ufffd".repeat(1365));
  assert.match(binary!.responseHeaders, /^HTTP\/1\.1 500 No\nX-Byte: \ufffd\n/);
  assert.deepEqual([long!.responseStatus, long!.responseHeaders], [0, ""]);
  assert.match(long!.error, /not valid HTTP/);
  assert.equal(text!.responseBody, "<script>\ufffd\x1b[2J\u202e</script>");
  testbed.receiver.script = () => 200;
});

test("an unknown delivery is not found, and a missing id is named", async () => {
  const { id } = await testbed.createWebhook();
  const call = (deliveryId: string) =>
    testbed.call("WebhookService/ListWebhookAttempts", { webhookId: id, deliveryId });
  assert.equal((await call("whd_01938a61-0c7e-7a33-8f14-5b2d9c60e471")).status, 404);
  const missing = await call("");
  assert.equal(missing.status, 400);
  assert.match(JSON.stringify(missing.body), /deliveryId/);
});

test("a destination that is no text for the database finds nothing", async () => {
  for (const destination of ["a\0b", "no domain", "x".repeat(5000), "%"]) {
    for (const open of [false, true]) {
      const { status, body } = await testbed.call("EmailService/ListEmails", { destination, open });
      assert.deepEqual([status, body.data], [200, []], `${destination.slice(0, 20)} ${JSON.stringify(body)}`);
    }
  }
});
