/** PosthornError, the only error class of this package: calls, streams and webhook verification throw it. */
import type { FieldViolation } from "./gen/error-details.ts";

export const errorCodes = [
  "canceled",
  "unknown",
  "invalid_argument",
  "deadline_exceeded",
  "not_found",
  "already_exists",
  "permission_denied",
  "resource_exhausted",
  "failed_precondition",
  "aborted",
  "out_of_range",
  "unimplemented",
  "internal",
  "unavailable",
  "data_loss",
  "unauthenticated",
] as const;

export type ErrorCode = (typeof errorCodes)[number];

export interface PosthornErrorDetails {
  violations?: readonly FieldViolation[];
  retryAfterMs?: number;
  reason?: string;
  metadata?: Readonly<Record<string, string>>;
  requestId?: string;
  cause?: unknown;
}

export class PosthornError extends Error {
  override readonly name = "PosthornError";
  /** Error code; safe to branch on. */
  readonly code: ErrorCode;
  /** All invalid fields, when the code is `invalid_argument`. */
  readonly violations: readonly FieldViolation[];
  /** How long the server asks to wait before the next attempt. */
  readonly retryAfterMs: number | undefined;
  /**
   * Why the service is `unavailable`: `DATABASE_…` means that nothing was stored, `OUTCOME_UNKNOWN` that the request may be stored or
   * not, `PARTLY_STORED` that its first steps are stored. `LOG_CUT` with `out_of_range`: the database lost the end of the event log.
   * Undefined for other errors and older servers.
   */
  readonly reason: string | undefined;
  /** Values that belong to the reason, such as `lastSharedCursor`. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Identifies the call in the server's log. Undefined when no server responded. */
  readonly requestId: string | undefined;

  constructor(code: ErrorCode, message: string, details: PosthornErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.violations = details.violations ?? [];
    this.retryAfterMs = details.retryAfterMs;
    this.reason = details.reason;
    this.metadata = details.metadata ?? {};
    this.requestId = details.requestId;
  }
}

/** An invalid argument, detected before a request is sent. */
export function badArgument(field: string, description: string): PosthornError {
  return new PosthornError("invalid_argument", `${field}: ${description}`, { violations: [{ field, description }] });
}
