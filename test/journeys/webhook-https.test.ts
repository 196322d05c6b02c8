import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { accepted } from "../harness/sending.ts";
import { testCertificate } from "../harness/sink.ts";
import { startWebhookWorld, verifies, type WebhookWorld } from "../harness/webhook-world.ts";

let world: WebhookWorld;
let secure: Receiver;
before(async () => {
  // The test's own authority is trusted as an operator would add that of a company.
  const ca = fileURLToPath(new URL("../fixtures/tls/ca.pem", import.meta.url));
  world = await startWebhookWorld({ env: { NODE_EXTRA_CA_CERTS: ca, POSTHORN_WEBHOOK_SCHEDULE_MS: "60000" } });
  secure = await startReceiver({ tls: testCertificate() });
  for (const host of ["mx.example.test", "hooks.test"]) world.dns.set(host, "A", "127.0.0.1");
});
after(async () => {
  await world.stop();
  await secure.close();
});

test("over https an event goes only to the host whose name the certificate bears", async () => {
  const named = await world.createWebhook({ url: `https://mx.example.test:${secure.port}/hook` });
  const other = await world.createWebhook({ url: `https://hooks.test:${secure.port}/hook` });
  await accepted(world, { to: ["a@other.test"] });
  await secure.until("the event", ({ requests }) => requests.length === 1);
  assert.ok(verifies(secure.requests[0]!, named.secret));
  assert.equal(secure.requests[0]!.headers.host, `mx.example.test:${secure.port}`);
  const [refused] = await world.untilDeliveries("the refusal", other.id, ([one]) => one?.attempts === 1);
  assert.match(refused!.error, /the certificate of hooks\.test is not accepted/);
  await world.untilDeliveries("the success", named.id, ([one]) => one?.settledAt !== undefined);
  assert.equal(secure.requests.length, 1, "nothing was said to the wrong one");
});
