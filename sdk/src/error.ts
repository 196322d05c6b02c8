/** The one error of this package: whatever goes wrong in a call, a stream or a webhook is a PosthornError. */
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
  requestId?: string;
  cause?: unknown;
}

export class PosthornError extends Error {
  override readonly name = "PosthornError";
  /** What kind of error it is; safe to branch on. */
  readonly code: ErrorCode;
  /** The fields at fault, all of them, when the code is `invalid_argument`. */
  readonly violations: readonly FieldViolation[];
  /** How long the server asks to wait before the next try. */
  readonly retryAfterMs: number | undefined;
  /** By this the operator finds the call in the server's log. Absent when no server answered. */
  readonly requestId: string | undefined;

  constructor(code: ErrorCode, message: string, details: PosthornErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.violations = details.violations ?? [];
    this.retryAfterMs = details.retryAfterMs;
    this.requestId = details.requestId;
  }
}

/** A mistake in the caller's own arguments, found before anything was sent. */
export function badArgument(field: string, description: string): PosthornError {
  return new PosthornError("invalid_argument", `${field}: ${description}`, { violations: [{ field, description }] });
}
