/** The error funnel: the only place that turns errors of calls into Connect errors, and rewrites errors that Connect words badly. Called by
 * router.ts, unary-json.ts, dispatch.ts and people/pages.ts. */
import { create, type DescMethod } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import { codeFromString } from "@connectrpc/connect/protocol-connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../gen/google/rpc/error_details_pb.ts";
import { StoreError, storeUnavailable } from "../objects/store-error.ts";
import type { Log } from "../ops/log.ts";
import { invalid, Problem } from "../ops/problem.ts";
import { type CallFacts, isDatabaseAway, unavailable } from "../postgres/outage.ts";
import { isMissingReference, isUnstorableText } from "../postgres/pool.ts";
import type { Request, Response } from "./server.ts";

export type FailedCall = {
  log: Log;
  requestId: string;
  method: string;
  /** A field of the request's header. */
  header?(name: string): string | undefined;
};

export function toConnectError(error: unknown, context: FailedCall): ConnectError {
  if (error instanceof ConnectError) return error;
  if (error instanceof Problem) return fromProblem(error);
  if (isDatabaseAway(error)) {
    // postgres/health.ts logs the outage once, not for each call.
    context.log.debug(
      { requestId: context.requestId, method: context.method, reason: (error as Error).message },
      "database unavailable",
    );
    return fromProblem(unavailable(error, factsOf(context)));
  }
  if (error instanceof StoreError)
    return fromProblem(storeUnavailable(error, { write: !readOnly.test(context.method) }));
  if (isUnstorableText(error)) return fromProblem(unstorableText());
  if (isMissingReference(error)) {
    context.log.warn(
      { requestId: context.requestId, method: context.method, err: error },
      "a row that the call refers to is missing",
    );
    return fromProblem(deletedMeanwhile());
  }
  context.log.error(
    { requestId: context.requestId, method: context.method, err: error },
    "call failed with an internal error",
  );
  return new ConnectError(
    `Internal error. Report the request id ${context.requestId} to the operator of this service.`,
    Code.Internal,
  );
}

const takeKeys = /^EmailService\/(SendEmail|SendEmailBatch)$/;

/** Methods that only read, by the names that the contract uses. */
const readOnly = /\/(Get|List|Stream|Export|Count|Check)[A-Z]/;

/** Whether a method changes nothing, so that its answer may still be refused after its handler has run. */
export function isReadOnly(method: DescMethod): boolean {
  return readOnly.test(`${method.parent.name}/${method.name}`);
}

function factsOf({ method, header }: FailedCall): CallFacts {
  const takesKey = takeKeys.test(method);
  return { reads: readOnly.test(method), takesKey, hasKey: takesKey && header?.("idempotency-key") !== undefined };
}

function unstorableText(): Problem {
  return invalid([{ field: "(request)", description: "contains a NUL character; remove it" }]);
}

/** For example, the caller's account was deleted while the call ran. */
function deletedMeanwhile(): Problem {
  return new Problem(
    "aborted",
    "Something that this call refers to was deleted meanwhile. Check what exists, then retry.",
  );
}

export function fromProblem(problem: Problem): ConnectError {
  const error = new ConnectError(problem.message, codeFromString(problem.code) ?? Code.Unknown);
  if (problem.violations.length > 0) {
    error.details.push({
      desc: BadRequestSchema,
      value: create(BadRequestSchema, { fieldViolations: problem.violations.map((v) => ({ ...v })) }),
    });
  }
  if (problem.reason !== undefined) {
    const { reason, metadata } = problem;
    const value = create(ErrorInfoSchema, { reason, domain: "posthorn", metadata });
    error.details.push({ desc: ErrorInfoSchema, value });
  }
  if (problem.retryAfterMs !== undefined) {
    error.details.push({
      desc: RetryInfoSchema,
      value: create(RetryInfoSchema, { retryDelay: durationFromMs(Math.ceil(problem.retryAfterMs)) }),
    });
    error.metadata.set("retry-after", String(Math.max(1, Math.ceil(problem.retryAfterMs / 1000))));
  }
  return error;
}

/** The code as on the wire, such as `invalid_argument`. */
export function codeName(error: ConnectError): string {
  return Code[error.code].replace(/[A-Z]/g, (c, i) => (i > 0 ? "_" : "") + c.toLowerCase());
}

const grpcUnimplemented = "12";

/** Answers a call of a method that does not exist. Connect has no response for it. */
export function refuseUnknownMethod(request: Request, response: Response, path: string): void {
  const message = `There is no method ${path.slice(0, 200)}. The API reference lists all methods.`;
  const type = request.headers["content-type"] ?? "";
  if (type.startsWith("application/grpc")) {
    // A trailers-only response: the status is in the header (gRPC over HTTP/2, "Responses").
    response.statusCode = 200;
    response.setHeader("content-type", type);
    response.setHeader("grpc-status", grpcUnimplemented);
    response.setHeader("grpc-message", encodeURIComponent(message));
    response.end();
  } else {
    const body = JSON.stringify({ code: "unimplemented", message });
    response.statusCode = 501;
    response.setHeader("content-type", "application/json");
    response.setHeader("content-length", Buffer.byteLength(body));
    response.end(body);
  }
  request.resume();
}

/** Connect answers 500 to a binary body that is not a valid message. This turns it into the caller's error (400). */
export async function explainBadRequest(
  answer: UniversalServerResponse,
  onRefused: () => void,
): Promise<UniversalServerResponse> {
  if (answer.status !== 500 || answer.body === undefined || answer.header?.has("content-encoding")) return answer;
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.body) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8");
  const { message } = JSON.parse(text) as { message?: string };
  const reason = /^parse binary: (.*)$/s.exec(message ?? "")?.[1];
  if (reason !== undefined) onRefused();
  const explanation = `The body is not a valid protobuf message of this method: ${reason}`;
  const body = Buffer.from(
    reason === undefined ? text : JSON.stringify({ code: "invalid_argument", message: explanation }),
  );
  answer.header?.set("content-length", String(body.length));
  return { ...answer, status: reason === undefined ? 500 : 400, body: only(body) };
}

async function* only(body: Uint8Array): AsyncGenerator<Uint8Array> {
  yield body;
}
