/** The one error funnel: whatever a call ended in becomes a Connect error here, and nowhere else. */
import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { codeFromString } from "@connectrpc/connect/protocol-connect";
import { BadRequestSchema, RetryInfoSchema } from "../gen/google/rpc/error_details_pb.ts";
import type { Log } from "../ops/log.ts";
import { invalid, Problem } from "../rules/problem.ts";
import { isDatabaseAway, isUnstorableText, unavailable } from "../store/db.ts";

export function toConnectError(error: unknown, context: { log: Log; requestId: string; method: string }): ConnectError {
  if (error instanceof ConnectError) return error;
  if (error instanceof Problem) return fromProblem(error);
  if (isDatabaseAway(error)) {
    context.log.warn(
      { requestId: context.requestId, method: context.method, reason: (error as Error).message },
      "database away",
    );
    return fromProblem(unavailable(error));
  }
  if (isUnstorableText(error)) return fromProblem(unstorableText());
  context.log.error(
    { requestId: context.requestId, method: context.method, err: error },
    "a call failed by a fault of ours",
  );
  return new ConnectError(
    `Something went wrong on our side. Report the request id ${context.requestId} to whoever runs this service.`,
    Code.Internal,
  );
}

function unstorableText(): Problem {
  return invalid([{ field: "(request)", description: "holds a NUL character, which no text may" }]);
}

export function fromProblem(problem: Problem): ConnectError {
  const error = new ConnectError(problem.message, codeFromString(problem.code) ?? Code.Unknown);
  if (problem.violations.length > 0) {
    error.details.push({
      desc: BadRequestSchema,
      value: create(BadRequestSchema, { fieldViolations: problem.violations.map((v) => ({ ...v })) }),
    });
  }
  if (problem.retryAfterMs !== undefined) {
    error.details.push({
      desc: RetryInfoSchema,
      value: create(RetryInfoSchema, { retryDelay: durationFromMs(problem.retryAfterMs) }),
    });
    error.metadata.set("retry-after", String(Math.max(1, Math.ceil(problem.retryAfterMs / 1000))));
  }
  return error;
}

export function codeName(error: ConnectError): string {
  return Code[error.code].replace(/[A-Z]/g, (c, i) => (i > 0 ? "_" : "") + c.toLowerCase());
}
