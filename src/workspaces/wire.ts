/** Converts the quotas of a workspace to messages of the contract. Called by service.ts, OperatorService and posthorn workspaces. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { QuotaKind as WireKind } from "../gen/v1/event_pb.ts";
import type { GetQuotasResponseSchema } from "../gen/v1/workspace_pb.ts";
import { limitsOf, type QuotaDefaults, type QuotaKind, quotaKinds, windowAt } from "../quotas/rules/limits.ts";
import type { WorkspaceUsage } from "../quotas/store/usage.ts";

export const quotaKindOnWire = {
  emailsPerHour: WireKind.EMAILS_PER_HOUR,
  emailsPerDay: WireKind.EMAILS_PER_DAY,
  storedBytes: WireKind.STORED_BYTES,
  inboundPerHour: WireKind.INBOUND_PER_HOUR,
  domains: WireKind.DOMAINS,
  keys: WireKind.KEYS,
  webhooks: WireKind.WEBHOOKS,
  members: WireKind.MEMBERS,
  streams: WireKind.STREAMS,
} as const satisfies Record<QuotaKind, WireKind>;

export function quotasOnWire(
  usage: WorkspaceUsage,
  defaults: QuotaDefaults,
): MessageInitShape<typeof GetQuotasResponseSchema> {
  const limits = limitsOf(usage, defaults);
  const { suspendedAt, suspendedReason, warning, serviceMs, lagMs } = usage;
  return {
    quotas: quotaKinds.map((kind) => {
      const limit = limits[kind];
      const window = windowAt(kind, serviceMs);
      return {
        kind: quotaKindOnWire[kind],
        limit: limit ?? undefined,
        used: usage.used[kind],
        resetsAt: window && timestampFromMs(Math.round(window.endMs + lagMs)),
      };
    }),
    suspension: suspendedAt
      ? { reason: suspendedReason ?? "", suspendedAt: timestampFromDate(suspendedAt) }
      : undefined,
    warning: warning ?? undefined,
  };
}
