import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { WebhookSchema, WebhookStatus } from "../../../src/gen/v1/webhook_pb.ts";
import { defaultTestType, summaryOf } from "./labels.ts";

test("a test event has a type that the webhook receives", () => {
  assert.equal(defaultTestType([]), "email.delivered");
  assert.equal(defaultTestType(["email.bounced", "email.delivered"]), "email.delivered");
  assert.equal(defaultTestType(["email.replied", "email.bounced"]), "email.replied");
});

test("the summary of a webhook names the most urgent fact, and a reason is a sentence", () => {
  const at = timestampFromDate(new Date());
  const summary = (part: object) =>
    summaryOf(create(WebhookSchema, { status: WebhookStatus.ENABLED, lastSuccessAt: at, failingSince: at, ...part }));
  const disabled = { status: WebhookStatus.DISABLED, disabledReason: "disabled by UpdateWebhook" };
  assert.match(summary(disabled).text, /^Disabled by UpdateWebhook\. After you enable it/);
  assert.equal(summary({}).title, "Every attempt fails");
  assert.equal(summary({ failingSince: undefined }).title, "The endpoint accepts events");
  const untried = { failingSince: undefined, lastSuccessAt: undefined };
  assert.equal(summary(untried).title, "No event has been accepted yet");
});
