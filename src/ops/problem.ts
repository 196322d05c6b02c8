/**
 * ops/ holds the tools that every folder uses: log, metrics, problems, deadlines and the clock.
 * This file defines Problem: a caller's mistake or a refusal, with a Connect code and a sentence on what to do next.
 * Every folder throws problems; http/errors.ts turns them into responses. Next: log.ts and metrics.ts.
 */

export const problemCodes = [
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

export type ProblemCode = (typeof problemCodes)[number];

/** One invalid field: `field` is its JSON path in the request, `description` names the limit, the actual value and the fix. */
export type Violation = { field: string; description: string };

export type ProblemExtra = {
  violations?: readonly Violation[];
  retryAfterMs?: number;
  reason?: string;
  metadata?: Readonly<Record<string, string>>;
  cause?: unknown;
};

export class Problem extends Error {
  readonly code: ProblemCode;
  readonly violations: readonly Violation[];
  readonly retryAfterMs: number | undefined;
  /** A constant for programs where one code has several reasons, such as `DATABASE_DISK_FULL`. */
  readonly reason: string | undefined;
  /** What a program needs to act on the reason, such as a cursor to resume from. */
  readonly metadata: Readonly<Record<string, string>>;

  constructor(code: ProblemCode, message: string, extra: ProblemExtra = {}) {
    super(message, { cause: extra.cause });
    this.name = "Problem";
    this.code = code;
    this.violations = extra.violations ?? [];
    this.retryAfterMs = extra.retryAfterMs;
    this.reason = extra.reason;
    this.metadata = extra.metadata ?? {};
  }
}

/** Reports every violation of a request at once. The message repeats them for clients that show only the message. */
export function invalid(violations: readonly Violation[]): Problem {
  const text = violations.map((v) => `${v.field}: ${v.description}`).join("; ");
  return new Problem("invalid_argument", text, { violations });
}

export function notFound(what: string, id: string): Problem {
  return new Problem(
    "not_found",
    `No ${what} has the id ${JSON.stringify(id.slice(0, 100))} in this workspace. Check the id, or list the existing ones.`,
  );
}
