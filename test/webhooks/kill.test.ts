import assert from "node:assert/strict";
import { test } from "node:test";
import { killWebhooks } from "../harness/webhook-kills.ts";

test("two kills during webhook deliveries lose no event", async () => {
  const { lost, broken } = await killWebhooks(2);
  assert.deepEqual([lost, broken], [0, []]);
});
