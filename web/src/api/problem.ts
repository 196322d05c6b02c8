/** What went wrong in a call, in words for the person in front of the page. */
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema } from "../../../src/gen/google/rpc/error_details_pb.ts";
import { AuthError } from "./auth.ts";

export interface Problem {
  title: string;
  message: string;
  /** What is wrong with which field, for forms. */
  fields: Record<string, string>;
}

const titles: Partial<Record<Code, string>> = {
  [Code.Unauthenticated]: "You are not signed in",
  [Code.PermissionDenied]: "You may not do that",
  [Code.InvalidArgument]: "Please correct the entries",
  [Code.NotFound]: "It is not there",
  [Code.FailedPrecondition]: "That is not possible yet",
  [Code.Unimplemented]: "This version cannot do that yet",
  [Code.Unavailable]: "The server is not ready",
  [Code.DeadlineExceeded]: "The server took too long",
  [Code.ResourceExhausted]: "Too many requests",
};

const codes = new Map(
  Object.entries(Code)
    .filter((entry): entry is [string, Code] => typeof entry[1] === "number")
    .map(([name, code]) => [name.replace(/(?<=.)[A-Z]/g, (letter) => `_${letter}`).toLowerCase(), code]),
);

export function explain(error: unknown): Problem {
  if (error instanceof AuthError) {
    const title = titles[codes.get(error.code) ?? Code.Unknown] ?? "That did not work";
    return { title, message: error.message, fields: asSentences(Object.entries(error.fields)) };
  }
  const known = ConnectError.from(error);
  const violations = known.findDetails(BadRequestSchema).flatMap((detail) => detail.fieldViolations);
  // The browser tells a page nothing about why a connection failed.
  const isOffline = known.cause instanceof TypeError || error instanceof TypeError;
  return {
    title: isOffline ? "The server cannot be reached" : (titles[known.code] ?? "That did not work"),
    message: isOffline ? "Check that Posthorn runs and that you are connected, then try again." : known.rawMessage,
    fields: asSentences(violations.map(({ field, description }) => [field, description])),
  };
}

/** The server's descriptions go on from the name of the field; below a field they stand alone. */
function asSentences(fields: [field: string, description: string][]): Record<string, string> {
  return Object.fromEntries(fields.map(([field, text]) => [field, text.charAt(0).toUpperCase() + text.slice(1)]));
}

export function codeOf(error: unknown): Code {
  return error instanceof AuthError ? (codes.get(error.code) ?? Code.Unknown) : ConnectError.from(error).code;
}
