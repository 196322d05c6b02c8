import assert from "node:assert/strict";
import { test } from "node:test";
import { create, toJson } from "@bufbuild/protobuf";
import { GetQuotasResponseSchema } from "../gen/v1/workspace_pb.ts";
import { noDefaults } from "../quotas/rules/limits.ts";
import { quotasOnWire } from "./wire.ts";

test("the end of a window is a valid time, however far service time is behind", () => {
  const usage = {
    id: "",
    name: "",
    quota: { emailsPerHour: 5 },
    fromSignUp: false,
    used: {
      emailsPerHour: 4,
      emailsPerDay: 4,
      storedBytes: 3_000_000_000,
      inboundPerHour: 0,
      domains: 0,
      keys: 0,
      webhooks: 0,
      members: 0,
      streams: 0,
    },
    serviceMs: Date.parse("2026-03-01T10:30:00Z") + 0.25,
    lagMs: 90_000.126,
    suspendedAt: null,
    suspendedReason: null,
    deletingAt: null,
    warning: null,
  };
  const message = create(GetQuotasResponseSchema, quotasOnWire(usage, noDefaults));
  const { quotas } = toJson(GetQuotasResponseSchema, message) as { quotas: Record<string, unknown>[] };
  assert.deepEqual(quotas[0], {
    kind: "QUOTA_KIND_EMAILS_PER_HOUR",
    limit: 5,
    used: 4,
    resetsAt: "2026-03-01T11:01:30Z",
  });
  assert.equal(quotas[2]!.used, 3_000_000_000);
});
