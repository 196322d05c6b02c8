import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { accepted } from "../harness/sending.ts";
import { testCertificate } from "../harness/sink.ts";
import { startWebhookTestbed, verifies, type WebhookTestbed } from "../harness/webhook-testbed.ts";

let testbed: WebhookTestbed;
let secure: Receiver;
before(async () => {
  // Trusts the test CA in the same way as an operator adds a company CA.
  const ca = fileURLToPath(new URL("../fixtures/tls/ca.pem", import.meta.url));
  testbed = await startWebhookTestbed({ env: { NODE_EXTRA_CA_CERTS: ca, POSTHORN_WEBHOOK_SCHEDULE_MS: "60000" } });
  secure = await startReceiver({ tls: testCertificate() });
  for (const host of ["mx.example.test", "hooks.test"]) testbed.dns.set(host, "A", "127.0.0.1");
});
after(async () => {
  await testbed.stop();
  await secure.close();
});

test("over https an event is posted only to a host whose name is in the certificate", async () => {
  const named = await testbed.createWebhook({ url: `https://mx.example.test:${secure.port}/hook` });
  const other = await testbed.createWebhook({ url: `https://hooks.test:${secure.port}/hook` });
  await accepted(testbed, { to: ["a@other.test"] });
  await secure.until("the event", ({ requests }) => requests.length === 1);
  assert.ok(verifies(secure.requests[0]!, named.secret));
  assert.equal(secure.requests[0]!.headers.host, `mx.example.test:${secure.port}`);
  const [failed] = await testbed.untilDeliveries("the failed attempt", other.id, ([one]) => one?.attempts === 1);
  assert.match(failed!.error, /the certificate of hooks\.test is not accepted/);
  await testbed.untilDeliveries("the success", named.id, ([one]) => one?.settledAt !== undefined);
  assert.equal(secure.requests.length, 1, "the other host got no request");
});
