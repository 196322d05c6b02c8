// Writes docs/reference/errors.md: the error object, each code with its HTTP status, and the methods that return it.
import { type DescMessage, fromJson, toBinary } from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { Code } from "@connectrpc/connect";
import { codeToHttpStatus, codeToString } from "@connectrpc/connect/protocol-connect";
import { outages } from "../../src/postgres/outage.ts";
import type { Contract } from "./descriptors.ts";
import { methodText } from "./reference-service.ts";
import { methodLink, table, typeSections } from "./reference-types.ts";
import { prose } from "./text.ts";

export function errorsPage(contract: Contract): string {
  const page = "errors.md";
  const codes = Object.values(Code).filter((code) => typeof code === "number");
  const details = contract.types
    .filter((type) => type.kind === "message")
    .filter((type) => type.file.proto.package === "google.rpc");
  const conditions = contract.services
    .flatMap((service) => service.methods)
    .flatMap((method) => methodText(contract, method).errors.map((error) => ({ ...error, method })));
  return [
    "# Errors",
    prose(intro),
    "```json\n" + JSON.stringify(exampleError(details[0]!), null, 2) + "\n```",
    table(
      ["Code", "HTTP status", "Meaning"],
      codes.map((code) => [
        `[\`${codeToString(code)}\`](#${codeToString(code)})`,
        String(codeToHttpStatus(code)),
        meanings[code],
      ]),
    ),
    "## Every method",
    "Every method can return these errors. The pages of the services do not repeat them.",
    table(
      ["Code", "When"],
      everyMethod.map(([code, when]) => [`\`${codeToString(code)}\``, when]),
    ),
    "## Details",
    prose(
      "Entries of `details` are protobuf messages: `type` is the name of the message, `value` its base64 encoding. Three messages are used.",
    ),
    ...typeSections(
      contract,
      details.flatMap((type) => [type, ...type.nestedMessages]),
    ),
    "## Reasons of unavailable",
    prose(unavailableIntro),
    table(
      ["Reason", "Message", "Stored"],
      [
        ...outages.map(({ reason, problem }) => [`\`${reason}\``, `${problem}, so nothing was stored.`, "no"]),
        ["`OUTCOME_UNKNOWN`", "…, and it is unknown whether this request was stored.", "unknown"],
        ["`PARTLY_STORED`", "…, and only the first part of this request was stored.", "in part"],
      ],
    ),
    "## By code",
    ...codes.flatMap((code) => {
      const rows = conditions.filter((condition) => condition.code === codeToString(code));
      const none = everyMethod.some(([common]) => common === code)
        ? "Only as listed under [every method](#every-method)."
        : "Not returned by any method. Clients should still handle it.";
      const list = table(
        ["Method", "When"],
        rows.map(({ method, when }) => [methodLink(method, page), when]),
      );
      return [`### ${codeToString(code)}`, rows.length > 0 ? list : none];
    }),
  ].join("\n\n");
}

const intro = `A failed call returns an HTTP status and an error object. \`code\` is for programs, \`message\` explains in English what
went wrong and what to do next, and \`details\` contains structured data for some codes. \`debug\` inside a detail is for debugging only: do not depend on its form.

A stream that fails after its first message ends with the same object in its last message. gRPC and gRPC-Web clients see the
same codes as gRPC status codes.`;

const unavailableIntro = `The \`reason\` in \`google.rpc.ErrorInfo\` says what happened to the request. After \`DATABASE_…\`, nothing was
stored, and every call can be repeated. \`OUTCOME_UNKNOWN\` is rare: the connection to the database was lost during the commit, and the database stayed unavailable
until the caller's deadline, or for 10 seconds if there was none. Repeat such a call with the same idempotency key, which stores it at most once;
without a key, look for the result first, for example with ListEmails. \`PARTLY_STORED\` is returned by methods that
store in several steps, such as ImportSuppressions and PurgeDestination.`;

function exampleError(badRequest: DescMessage) {
  const description = 'write "ada" as "ada@example.com" or "Ada <ada@example.com>"';
  const debug = { fieldViolations: [{ field: "to[0]", description }] };
  const bytes = toBinary(badRequest, fromJson(badRequest, debug));
  return {
    code: "invalid_argument",
    message: `to[0]: ${description}`,
    details: [{ type: badRequest.typeName, value: base64Encode(bytes, "std_raw"), debug }],
  };
}

const meanings: Record<Code, string> = {
  [Code.Canceled]: "The caller canceled the call.",
  [Code.Unknown]: "The cause is unknown.",
  [Code.InvalidArgument]: "The request is invalid. Correct it; a retry without a change fails again.",
  [Code.DeadlineExceeded]: "The caller's time limit passed before the call finished.",
  [Code.NotFound]: "The object does not exist in this workspace.",
  [Code.AlreadyExists]: "The object already exists, or the idempotency key was used for another request.",
  [Code.PermissionDenied]: "The key is valid but may not do this.",
  [Code.ResourceExhausted]: "A limit was reached. Wait for the time in `Retry-After`, or send less.",
  [Code.FailedPrecondition]: "The request is valid, but something else must be done first; the message explains what.",
  [Code.Aborted]: "Another call changed the same object at the same time. Retry.",
  [Code.OutOfRange]: "The value is outside the stored range; the message contains the limits.",
  [Code.Unimplemented]: "This version has no such method.",
  [Code.Internal]: "An error in the service. Its log has the details under the request id.",
  [Code.Unavailable]: "The service is temporarily unavailable. Retry with the same idempotency key.",
  [Code.DataLoss]: "Stored data is damaged.",
  [Code.Unauthenticated]: "The key is missing, malformed, unknown, revoked or expired.",
};

const everyMethod: [Code, string][] = [
  [
    Code.InvalidArgument,
    "The body is not valid JSON, a field has the wrong type, an enum value or a timestamp is not valid, or `Connect-Protocol-Version: 1` is missing.",
  ],
  [
    Code.Unauthenticated,
    "The API key is missing, malformed, unknown or revoked. All four return the same error. The error of an expired key says when it expired.",
  ],
  [
    Code.PermissionDenied,
    "The key's permission or scopes do not allow the method, or the key may not be used from this address.",
  ],
  [
    Code.ResourceExhausted,
    "The rate limit of the workspace or its share of a resource is used up: calls in progress, memory for large bodies or answers, database connections, connections of one address. Such an error has a `google.rpc.RetryInfo` detail and a `Retry-After` header. Or the body is over 64 MiB, which a retry does not change.",
  ],
  [
    Code.DeadlineExceeded,
    "The time in `Connect-Timeout-Ms` or `grpc-timeout` passed before the call was carried out, and nothing was stored. A call that has sent its write to the database by then returns its real result instead.",
  ],
  [
    Code.Aborted,
    "Something that the call refers to was deleted while it ran, for example the caller's account. Nothing was stored.",
  ],
  [Code.Unimplemented, "The method does not exist, or is planned and not yet served."],
  [
    Code.Unavailable,
    "The server is stopping, or its database cannot serve. The message and the `google.rpc.ErrorInfo` detail say whether anything was stored: see [unavailable](#reasons-of-unavailable).",
  ],
  [Code.Internal, "An error in the service."],
];
