import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted } from "../harness/sending.ts";
import { startWebhookWorld, verifies, type WebhookWorld } from "../harness/webhook-world.ts";

let world: WebhookWorld;
before(async () => {
  world = await startWebhookWorld();
});
after(async () => await world.stop());

async function nextRequest() {
  const before = world.receiver.requests.length;
  await accepted(world, {});
  await world.receiver.until("a request", ({ requests }) => requests.length === before + 1);
  return world.receiver.requests.at(-1)!;
}

test("after a rotation both secrets sign for a day, then the new one alone", async () => {
  const { id, secret: first } = await world.createWebhook();
  assert.ok(verifies(await nextRequest(), first));

  const rotated = await world.ask("RotateWebhookSecret", { id });
  const second = rotated.signingSecret as string;
  assert.notEqual(second, first);
  const { previousSecretExpiresAt } = await world.getWebhook(id);
  const leftMs = new Date(previousSecretExpiresAt!).getTime() - Date.now();
  assert.ok(leftMs > 23 * 3600_000 && leftMs <= 24 * 3600_000 + 60_000, `the old secret lives ${leftMs} ms`);
  const both = await nextRequest();
  assert.equal(both.headers["webhook-signature"]!.split(" ").length, 2);
  assert.ok(verifies(both, first) && verifies(both, second));

  // As if a day had passed.
  await world.database.sql`update webhooks set previous_secret_until = now()`;
  const alone = await nextRequest();
  assert.ok(verifies(alone, second));
  assert.equal(verifies(alone, first), false);
  assert.equal((await world.getWebhook(id)).previousSecretExpiresAt, undefined);
});

test("two rotations in a row leave two live secrets, the newest ones", async () => {
  await world.database.sql`delete from webhooks`;
  const { id, secret: first } = await world.createWebhook();
  const second = (await world.ask("RotateWebhookSecret", { id })).signingSecret as string;
  const third = (await world.ask("RotateWebhookSecret", { id })).signingSecret as string;
  const request = await nextRequest();
  assert.deepEqual(
    [first, second, third].map((secret) => verifies(request, secret)),
    [false, true, true],
  );
});
