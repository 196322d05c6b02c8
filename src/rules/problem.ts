/** A caller's mistake or a refusal, as a value with a Connect code and a sentence that says what to do next. */

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

/** One field that is wrong: `field` is the JSON path a caller wrote, `description` names limit, actual value and fix. */
export type Violation = { field: string; description: string };

export class Problem extends Error {
  readonly code: ProblemCode;
  readonly violations: readonly Violation[];
  readonly retryAfterMs: number | undefined;

  constructor(
    code: ProblemCode,
    message: string,
    extra: { violations?: readonly Violation[]; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: extra.cause });
    this.name = "Problem";
    this.code = code;
    this.violations = extra.violations ?? [];
    this.retryAfterMs = extra.retryAfterMs;
  }
}

/** All that is wrong with a request in one answer: the message repeats the violations for people who read only that. */
export function invalid(violations: readonly Violation[]): Problem {
  const text = violations.map((v) => `${v.field}: ${v.description}`).join("; ");
  return new Problem("invalid_argument", text, { violations });
}

export function notFound(what: string, id: string): Problem {
  return new Problem(
    "not_found",
    `No ${what} has the id ${JSON.stringify(id.slice(0, 100))} in this workspace. Check the id, or list what there is.`,
  );
}
