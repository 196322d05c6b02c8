/** When a failed call may be tried again, and after how long. */
import type { PosthornError } from "./error.ts";
import type { UnaryMethods } from "./gen/methods.ts";

export type MethodName = keyof UnaryMethods;

/**
 * Methods that do no harm when the first try had succeeded and only its answer was lost: reads, changes that end in the same
 * state, and sends, which carry an idempotency key. A key or a webhook made twice would leave a secret that nobody knows.
 */
const repeatable: ReadonlySet<MethodName> = new Set<MethodName>([
  "DomainService/GetDomain",
  "DomainService/ListDomains",
  "DomainService/VerifyDomain",
  "EmailService/SendEmail",
  "EmailService/SendEmailBatch",
  "EmailService/GetEmail",
  "EmailService/GetEmailContent",
  "EmailService/ListEmails",
  "EmailService/ListEvents",
  "InboundService/GetInbound",
  "InboundService/GetInboundAttachment",
  "InboundService/GetInboundContent",
  "InboundService/ListInbound",
  "KeyService/ListKeys",
  "KeyService/RevokeKey",
  "SuppressionService/AddSuppression",
  "SuppressionService/ExportSuppressions",
  "SuppressionService/ListSuppressions",
  "WebhookService/GetWebhook",
  "WebhookService/ListWebhookDeliveries",
  "WebhookService/ListWebhooks",
  "WebhookService/UpdateWebhook",
]);

/** Undefined: do not try again. */
export function retryDelayMs(
  error: PosthornError,
  { method, failures, random }: { method: MethodName; failures: number; random: number },
): number | undefined {
  if (!mayRepeat(error, method)) return undefined;
  return Math.max(error.retryAfterMs ?? 0, backOffMs(failures, random));
}

/** 250 ms, doubled with each failure in a row up to 30 s, of which a random half is taken off so that clients spread out. */
export function backOffMs(failures: number, random: number): number {
  return Math.min(30_000, 250 * 2 ** Math.min(failures - 1, 10)) * (0.5 + random / 2);
}

function mayRepeat(error: PosthornError, method: MethodName): boolean {
  // Without a time to wait it is a limit that stays, such as a body too large, and not a pace.
  if (error.code === "resource_exhausted") return error.retryAfterMs !== undefined;
  if (error.code !== "unavailable") return false;
  return repeatable.has(method) || wasNeverSent(error.cause);
}

const beforeSending = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);

/** Node's fetch tells by the code of its cause that no connection came about. */
function wasNeverSent(cause: unknown): boolean {
  const { code, cause: inner } = (cause ?? {}) as { code?: unknown; cause?: unknown };
  return beforeSending.has(String(code)) || (inner !== undefined && wasNeverSent(inner));
}
