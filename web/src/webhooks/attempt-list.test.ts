import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { WebhookAttemptSchema, WebhookDeliverySchema } from "../../../src/gen/v1/webhook_pb.ts";
import { listAttempts } from "./attempt-list.ts";

const attempt = (number: number) =>
  create(WebhookAttemptSchema, { number, url: "https://a.test/", requestHeaders: "webhook-id: evt_1" });
const delivery = (attempts: number) =>
  create(WebhookDeliverySchema, { attempts, responseHead: "HTTP/1.1 500 Oops\n\n\x1b", responseStatus: 500 });

test("kept attempts are shown with what was sent and received", () => {
  const { shown, missing } = listAttempts(delivery(2), [attempt(2), attempt(1)], false);
  assert.deepEqual(
    shown.map(({ number, request }) => [number, request]),
    [
      [2, "POST https://a.test/\nwebhook-id: evt_1"],
      [1, "POST https://a.test/\nwebhook-id: evt_1"],
    ],
  );
  assert.equal(missing, 0);
});

test("the last attempt of an earlier version is shown from its delivery, and those before it are counted", () => {
  const { shown, missing } = listAttempts(delivery(3), [], false);
  assert.deepEqual(
    shown.map(({ number, responseStatus, request, response }) => [number, responseStatus, request, response]),
    [[3, 500, undefined, "HTTP/1.1 500 Oops\n\n\\u001b"]],
  );
  assert.equal(missing, 2);
  assert.equal(listAttempts(delivery(3), [attempt(3)], false).missing, 2);
  assert.equal(listAttempts(delivery(3), [attempt(3)], true).missing, 0, "on a later page");
});

test("a delivery without attempts has none, and an attempt newer than its delivery is shown once", () => {
  assert.deepEqual(listAttempts(delivery(0), [], false), { shown: [], missing: 0 });
  const { shown, missing } = listAttempts(delivery(1), [attempt(2), attempt(1)], false);
  assert.deepEqual([shown.map(({ number }) => number), missing], [[2, 1], 0]);
});
