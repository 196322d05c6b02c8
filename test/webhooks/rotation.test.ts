import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted } from "../harness/sending.ts";
import { startWebhookTestbed, verifies, type WebhookTestbed } from "../harness/webhook-testbed.ts";

let testbed: WebhookTestbed;
before(async () => {
  testbed = await startWebhookTestbed();
});
after(async () => await testbed.stop());

async function nextRequest() {
  const before = testbed.receiver.requests.length;
  await accepted(testbed, {});
  await testbed.receiver.until("a request", ({ requests }) => requests.length === before + 1);
  return testbed.receiver.requests.at(-1)!;
}

test("after a rotation both secrets sign for a day, then only the new one", async () => {
  const { id, secret: first } = await testbed.createWebhook();
  assert.ok(verifies(await nextRequest(), first));

  const rotated = await testbed.ask("RotateWebhookSecret", { id });
  const second = rotated.signingSecret as string;
  assert.notEqual(second, first);
  const { previousSecretExpiresAt } = await testbed.getWebhook(id);
  const leftMs = new Date(previousSecretExpiresAt!).getTime() - Date.now();
  assert.ok(leftMs > 23 * 3600_000 && leftMs <= 24 * 3600_000 + 60_000, `the old secret expires in ${leftMs} ms`);
  const both = await nextRequest();
  assert.equal(both.headers["webhook-signature"]!.split(" ").length, 2);
  assert.ok(verifies(both, first) && verifies(both, second));

  // Simulates that a day has passed.
  await testbed.database.sql`update webhooks set previous_secret_until = now()`;
  const newOnly = await nextRequest();
  assert.ok(verifies(newOnly, second));
  assert.equal(verifies(newOnly, first), false);
  assert.equal((await testbed.getWebhook(id)).previousSecretExpiresAt, undefined);
});

test("after two rotations in a row, the two newest secrets sign", async () => {
  await testbed.database.sql`delete from webhooks`;
  const { id, secret: first } = await testbed.createWebhook();
  const second = (await testbed.ask("RotateWebhookSecret", { id })).signingSecret as string;
  const third = (await testbed.ask("RotateWebhookSecret", { id })).signingSecret as string;
  const request = await nextRequest();
  assert.deepEqual(
    [first, second, third].map((secret) => verifies(request, secret)),
    [false, true, true],
  );
});
