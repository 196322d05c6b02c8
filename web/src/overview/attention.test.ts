import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { DomainSchema, DomainStatus } from "../../../src/gen/v1/domain_pb.ts";
import { QuotaKind } from "../../../src/gen/v1/event_pb.ts";
import { DestinationSchema } from "../../../src/gen/v1/queue_pb.ts";
import { StatsAlertSchema } from "../../../src/gen/v1/stats_pb.ts";
import { WebhookSchema, WebhookStatus } from "../../../src/gen/v1/webhook_pb.ts";
import { QuotaSchema } from "../../../src/gen/v1/workspace_pb.ts";
import { attentionOf, type Facts, fineText } from "./attention.ts";

const now = Date.parse("2026-03-08T10:00:00Z");
const hoursAgo = (hours: number) => timestampFromMs(now - hours * 3_600_000);
const lines = (facts: Facts) =>
  attentionOf(facts, now).map(({ word, subject, fact, action }) => `${word} | ${subject} ${fact} | ${action.text}`);

test("a healthy workspace needs no attention", () => {
  const facts: Facts = {
    alerts: [],
    domains: [create(DomainSchema, { domain: "a.test", status: DomainStatus.READY })],
    webhooks: [
      create(WebhookSchema, { url: "https://a.test/x", status: WebhookStatus.ENABLED }),
      create(WebhookSchema, { url: "https://b.test/x", status: WebhookStatus.DISABLED }),
    ],
    quotas: [
      create(QuotaSchema, { kind: QuotaKind.KEYS, used: 900 }),
      create(QuotaSchema, { kind: QuotaKind.DOMAINS, limit: 10, used: 7 }),
    ],
    destinations: [create(DestinationSchema, { destination: "there.test", queued: 3 })],
  };
  assert.deepEqual(lines(facts), []);
  assert.deepEqual(lines({}), []);
});

test("each problem is a fact and an action, alerts first", () => {
  const facts: Facts = {
    destinations: [create(DestinationSchema, { destination: "slow.test", stalledSince: hoursAgo(3), queued: 1200 })],
    quotas: [
      create(QuotaSchema, { kind: QuotaKind.EMAILS_PER_DAY, limit: 1000, used: 812 }),
      create(QuotaSchema, { kind: QuotaKind.KEYS, limit: 5, used: 5 }),
    ],
    webhooks: [
      create(WebhookSchema, { url: "https://api.a.test/x", status: WebhookStatus.ENABLED, failingSince: hoursAgo(2) }),
      create(WebhookSchema, {
        url: "https://b.test",
        status: WebhookStatus.DISABLED,
        disabledReason: "It answered 410.",
      }),
    ],
    domains: [
      create(DomainSchema, {
        domain: "a.test",
        status: DomainStatus.DEGRADED,
        summary: { recordsPending: 1, canSend: true },
      }),
      create(DomainSchema, { domain: "b.test", status: DomainStatus.PENDING, summary: { recordsPending: 6 } }),
    ],
    alerts: [create(StatsAlertSchema, { figure: "complaints", message: "21 complaints." })],
  };
  assert.deepEqual(lines(facts), [
    "Rate | Complaint rate: 21 complaints. | Show emails",
    "DNS | a.test can send, but 1 record is missing or wrong | Show records",
    "DNS | b.test cannot send: 6 records are missing or wrong | Show records",
    "Webhook | api.a.test has failed for 2 h | Show attempts",
    "Webhook | b.test is disabled: It answered 410. | Show attempts",
    "Quota | Emails per day is used to 81 % | Show quotas",
    "Quota | API keys is used up: more is refused | Show quotas",
    "Queue | slow.test has not answered for 3 h; 1,200 waiting | Show queue",
  ]);
});

test("an empty list names only the parts that were read", () => {
  assert.match(fineText(["domains", "webhooks", "rates"]), /^Nothing\. Domains, webhooks and rates are fine\./);
});
