/** SMTP replies for the problems of the accept path, each with an enhanced status code (RFC 3463). Used by policy.ts. */
import type { Problem, ProblemCode } from "../ops/problem.ts";
import { OutcomeUnknown, unavailable } from "../postgres/outage.ts";

/** 4xx: the client may send the same message again. */
const replyCodes: Partial<Record<ProblemCode, string>> = {
  invalid_argument: "554 5.6.0",
  failed_precondition: "550 5.7.1",
  permission_denied: "550 5.7.1",
  unauthenticated: "550 5.7.8",
  already_exists: "554 5.5.0",
  not_found: "550 5.7.1",
  resource_exhausted: "451 4.7.1",
  unavailable: "451 4.3.0",
};

export function replyOf(problem: Problem): string {
  const code = replyCodes[problem.code] ?? "451 4.3.0";
  const wait = problem.retryAfterMs === undefined ? "" : ` (wait ${Math.ceil(problem.retryAfterMs / 1000)} s)`;
  return `${code} ${problem.message}${code.startsWith("4") ? wait : ""}`;
}

/** The same for a wrong user name and a wrong, revoked or unsuitable key: the answer must not reveal which. */
export const loginRefused =
  "535 5.7.8 authentication failed: the user name is posthorn, the password an API key that may send";

/** The answer to the login, and then to the message, while the database is away. */
export function outageReply(error: unknown): string {
  if (error instanceof OutcomeUnknown) return unknownReply;
  const problem = unavailable(error);
  return problem.reason === "DATABASE_DISK_FULL" ? `452 4.3.1 ${problem.message}` : replyOf(problem);
}

const unknownReply =
  "451 4.3.0 the connection to the database was lost, and it is unknown whether the message is stored: send the same message again, with its Message-ID it is sent once";

export const internalReply =
  "451 4.3.0 the message could not be accepted because of a fault in Posthorn, try again later";
