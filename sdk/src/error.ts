/** PosthornError, the only error class of this package: calls, streams and webhook verification throw it and nothing else. */
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

// The package has two builds, each with its own class. `instanceof` is also true for an error of the other build.
const mark = Symbol.for("posthorn.error");
Object.defineProperty(PosthornError.prototype, mark, { value: true });
Object.defineProperty(PosthornError, Symbol.hasInstance, {
  value(this: unknown, value: unknown): boolean {
    if (this !== PosthornError) return Function.prototype[Symbol.hasInstance].call(this as () => void, value);
    return typeof value === "object" && value !== null && mark in value;
  },
});

/** An error of a platform function or of the caller's code, as a PosthornError. */
export function asPosthornError(error: unknown): PosthornError {
  return error instanceof PosthornError
    ? error
    : new PosthornError("unknown", reasonOf(error), { cause: error ?? "no reason" });
}

/** The most specific description: Node's fetch reports "fetch failed" and has the reason in `cause`. */
export function reasonOf(error: unknown): string {
  const { message, code, cause } = Object(error) as { message?: unknown; code?: unknown; cause?: unknown };
  const inner = Object(cause) as { message?: unknown; code?: unknown };
  for (const text of [inner.message, inner.code, message, code])
    if (typeof text === "string" && text !== "") return text;
  return String(error);
}

/** An invalid argument, detected before a request is sent. */
export function badArgument(field: string, description: string): PosthornError {
  return new PosthornError("invalid_argument", `${field}: ${description}`, { violations: [{ field, description }] });
}
