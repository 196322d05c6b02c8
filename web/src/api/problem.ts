/** What went wrong in a call, in words for the person in front of the page. */
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema } from "../../../src/gen/google/rpc/error_details_pb.ts";

export interface Problem {
  title: string;
  message: string;
  /** What is wrong with which field, for forms. */
  fields: Record<string, string>;
}

const titles: Partial<Record<Code, string>> = {
  [Code.Unauthenticated]: "This key is not accepted",
  [Code.PermissionDenied]: "This key may not do that",
  [Code.InvalidArgument]: "Please correct the entries",
  [Code.FailedPrecondition]: "That is not possible yet",
  [Code.Unavailable]: "The server is not ready",
  [Code.DeadlineExceeded]: "The server took too long",
  [Code.ResourceExhausted]: "Too many requests",
};

export function explain(error: unknown): Problem {
  const known = ConnectError.from(error);
  const violations = known.findDetails(BadRequestSchema).flatMap((detail) => detail.fieldViolations);
  // The browser tells a page nothing about why a connection failed.
  const isOffline = known.cause instanceof TypeError;
  return {
    title: isOffline ? "The server cannot be reached" : (titles[known.code] ?? "That did not work"),
    message: isOffline ? "Check that Posthorn runs and that you are connected, then try again." : known.rawMessage,
    fields: Object.fromEntries(violations.map(({ field, description }) => [field, description])),
  };
}
