/** Converts the errors of calls to titles, messages and field errors that people can read. Forms and ProblemAlert use it. */
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema } from "../../../src/gen/google/rpc/error_details_pb.ts";
import { AuthError } from "./auth.ts";

export interface Problem {
  title: string;
  message: string;
  /** Error message by field, for forms. */
  fields: Record<string, string>;
}

const titles: Partial<Record<Code, string>> = {
  [Code.Unauthenticated]: "You are not signed in",
  [Code.PermissionDenied]: "You do not have permission",
  [Code.InvalidArgument]: "Some fields are invalid",
  [Code.NotFound]: "Not found",
  [Code.FailedPrecondition]: "Not possible right now",
  [Code.Unimplemented]: "Not available in this version",
  [Code.Unavailable]: "The server is unavailable",
  [Code.DeadlineExceeded]: "The server did not respond in time",
  [Code.ResourceExhausted]: "Too many requests",
};

const codes = new Map(
  Object.entries(Code)
    .filter((entry): entry is [string, Code] => typeof entry[1] === "number")
    .map(([name, code]) => [name.replace(/(?<=.)[A-Z]/g, (letter) => `_${letter}`).toLowerCase(), code]),
);

export function explain(error: unknown): Problem {
  if (error instanceof AuthError) {
    const title = titles[codes.get(error.code) ?? Code.Unknown] ?? "The request failed";
    return { title, message: error.message, fields: asSentences(Object.entries(error.fields)) };
  }
  const known = ConnectError.from(error);
  const violations = known.findDetails(BadRequestSchema).flatMap((detail) => detail.fieldViolations);
  const isOffline = isNetworkError(error);
  return {
    title: isOffline ? "The server cannot be reached" : (titles[known.code] ?? "The request failed"),
    message: isOffline
      ? "Check that Posthorn is running and that your network connection works, then try again."
      : known.rawMessage,
    fields: asSentences(violations.map(({ field, description }) => [field, description])),
  };
}

/** fetch throws a TypeError when the connection fails. The browser does not reveal the reason. */
function isNetworkError(error: unknown): boolean {
  return ConnectError.from(error).cause instanceof TypeError || error instanceof TypeError;
}

/** True when the server did not answer the call. Otherwise it answered with an error. */
export function isUnanswered(error: unknown): boolean {
  return isNetworkError(error) || [Code.Unavailable, Code.DeadlineExceeded].includes(codeOf(error));
}

/** The server's descriptions continue after the field name. Below a field they need a capital letter. */
function asSentences(fields: [field: string, description: string][]): Record<string, string> {
  return Object.fromEntries(fields.map(([field, text]) => [field, text.charAt(0).toUpperCase() + text.slice(1)]));
}

export function codeOf(error: unknown): Code {
  return error instanceof AuthError ? (codes.get(error.code) ?? Code.Unknown) : ConnectError.from(error).code;
}

/** The constant that says which of several reasons an error has, such as SECOND_FACTOR_REQUIRED. */
export function reasonOf(error: unknown): string | undefined {
  if (error instanceof AuthError) return error.reason;
  return ConnectError.from(error).findDetails(ErrorInfoSchema)[0]?.reason;
}
