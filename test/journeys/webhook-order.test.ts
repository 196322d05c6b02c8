import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, untilTold } from "../harness/sending.ts";
import { greylist } from "../harness/sink.ts";
import { startWebhookWorld, typesOf, type WebhookWorld } from "../harness/webhook-world.ts";

let world: WebhookWorld;
before(async () => {
  world = await startWebhookWorld({ sink: { script: greylist(1) }, env: { POSTHORN_WEBHOOK_SCHEDULE_MS: "1500" } });
});
after(async () => await world.stop());

test("an email's events are tried in their order; while one is under way the next one waits, and other emails do not", async () => {
  const { receiver } = world;
  const answer = Promise.withResolvers<void>();
  let held: string | undefined;
  receiver.script = async ({ event, seen }) => {
    held ??= event.emailId;
    if (event.emailId !== held || event.type !== "email.delayed" || seen > 1) return 200;
    await answer.promise;
    return 500;
  };
  await world.createWebhook();
  const first = await accepted(world, { to: ["first@there.test"] });
  await receiver.until("its first event", ({ requests }) => requests.length === 1);
  await untilTold(world, first, "email.delivered");
  const other = await accepted(world, { to: ["other@other.test"] });
  const about = (emailId: string) => receiver.requests.filter(({ event }) => event.emailId === emailId);
  await receiver.until("both events of the other email", () => about(other).length === 2);
  assert.deepEqual(typesOf(about(other)), ["email.delayed", "email.delivered"]);
  assert.deepEqual(typesOf(about(first)), ["email.delayed"], "the second one waits for the first");

  answer.resolve();
  await receiver.until("the rest", () => about(first).length === 3);
  assert.deepEqual(
    typesOf(about(first)),
    ["email.delayed", "email.delivered", "email.delayed"],
    "a failure does not hold up the next one for long; what failed comes again",
  );
});
