/** Decides whether a failed call is retried, and after what delay. Used by call.ts; events.ts uses the back-off. */
import type { PosthornError } from "./error.ts";
import type { UnaryMethods } from "./gen/methods.ts";

export type MethodName = keyof UnaryMethods;

/**
 * Methods that are safe to retry when the first attempt succeeded but its response was lost: reads, idempotent changes, and
 * sends, which have an idempotency key. Creating a key or a webhook twice would leave one whose secret was never received.
 */
const repeatable: ReadonlySet<MethodName> = new Set<MethodName>([
  "AuditService/ExportAuditEntries",
  "AuditService/ListAuditEntries",
  "DeliverabilityService/CheckDeliverability",
  "DomainService/GetDomain",
  "DomainService/GetZoneFile",
  "DomainService/ListDomainLinks",
  "DomainService/ListDomains",
  "DomainService/PublishToLocalDns",
  "DomainService/VerifyDomain",
  "EmailService/SendEmail",
  "EmailService/SendEmailBatch",
  "EmailService/CountEmails",
  "EmailService/GetEmail",
  "EmailService/GetEmailContent",
  "EmailService/ListEmails",
  "EmailService/ListEvents",
  "InboundService/GetInbound",
  "InboundService/GetInboundAttachment",
  "InboundService/GetInboundContent",
  "InboundService/ListInbound",
  "InboundService/ListUnattributedReports",
  "KeyService/ListKeys",
  "KeyService/RevokeKey",
  "KeyService/UpdateKey",
  "QueueService/ListDestinations",
  "QueueService/PauseDestination",
  "QueueService/ResumeDestination",
  "StatsService/GetStats",
  "StatsService/GetStatsSettings",
  "StatsService/UpdateStatsSettings",
  "SuppressionService/AddSuppression",
  "SuppressionService/AddUnsubscribe",
  "SuppressionService/ExportSuppressions",
  "SuppressionService/ListSuppressions",
  "SuppressionService/ListUnsubscribes",
  "WebhookService/GetWebhook",
  "WebhookService/ListWebhookAttempts",
  "WebhookService/ListWebhookDeliveries",
  "WebhookService/ListWebhooks",
  "WebhookService/UpdateWebhook",
  "WorkspaceService/GetQuotas",
  "WorkspaceService/ListMembers",
  "WorkspaceService/ListWorkspaces",
]);

/** The delay before the next attempt; undefined when the call must not be retried. */
export function retryDelayMs(
  error: PosthornError,
  { method, failures, random }: { method: MethodName; failures: number; random: number },
): number | undefined {
  if (!mayRepeat(error, method)) return undefined;
  return Math.max(error.retryAfterMs ?? 0, backOffMs(failures, random));
}

/** Exponential back-off from 250 ms to 30 s, with up to 50% jitter so that clients do not retry at the same time. */
export function backOffMs(failures: number, random: number): number {
  return Math.min(30_000, 250 * 2 ** Math.min(failures - 1, 10)) * (0.5 + random / 2);
}

function mayRepeat(error: PosthornError, method: MethodName): boolean {
  // Only a rate limit has a delay. Other limits, such as a body that is too large, do not go away with a retry.
  if (error.code === "resource_exhausted") return error.retryAfterMs !== undefined;
  if (error.code !== "unavailable") return false;
  return repeatable.has(method) || storedNothing(error) || wasNeverSent(error.cause);
}

/** The server knows that the request had no effect, so any method may be repeated. */
function storedNothing({ reason }: PosthornError): boolean {
  return reason?.startsWith("DATABASE_") === true;
}

const connectErrors = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);

/** True when no connection was established, according to the error code in the cause of Node's fetch error. */
function wasNeverSent(cause: unknown): boolean {
  const { code, cause: inner } = (cause ?? {}) as { code?: unknown; cause?: unknown };
  return connectErrors.has(String(code)) || (inner !== undefined && wasNeverSent(inner));
}
