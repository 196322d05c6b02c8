// Writes the reference page of errors: the error object, each code with its HTTP status, and the methods that answer it.
import { type DescMessage, fromJson, toBinary } from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { Code } from "@connectrpc/connect";
import { codeToHttpStatus, codeToString } from "@connectrpc/connect/protocol-connect";
import type { Contract } from "./descriptors.ts";
import { methodText } from "./reference-service.ts";
import { methodLink, prose, table, typeSections } from "./reference-types.ts";

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
    "These can come from any method and are not repeated on the pages of the services.",
    table(
      ["Code", "When"],
      everyMethod.map(([code, when]) => [`\`${codeToString(code)}\``, when]),
    ),
    "## Details",
    "Entries of `details` are protobuf messages: `type` names the message, `value` is its base64. The two in use are these.",
    ...typeSections(
      contract,
      details.flatMap((type) => [type, ...type.nestedMessages]),
    ),
    "## By code",
    ...codes.flatMap((code) => {
      const rows = conditions.filter((condition) => condition.code === codeToString(code));
      const none = everyMethod.some(([common]) => common === code)
        ? "Only as under [every method](#every-method)."
        : "Not used by any method; clients should still be ready for it.";
      const list = table(
        ["Method", "When"],
        rows.map(({ method, when }) => [methodLink(method, page), when]),
      );
      return [`### ${codeToString(code)}`, rows.length > 0 ? list : none];
    }),
  ].join("\n\n");
}

const intro = `A failed call answers with an HTTP status and an error object. \`code\` is for programs, \`message\` says in English what
went wrong and what to do next, \`details\` hold data for some codes. \`debug\` inside a detail is for reading only: do not build on it.

A stream that fails after its first message ends with the same object in its last message. gRPC and gRPC-Web clients see the
same codes as gRPC status codes.`;

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
  [Code.Canceled]: "The caller ended the call.",
  [Code.Unknown]: "The cause is not known.",
  [Code.InvalidArgument]: "The request is wrong and will stay wrong. Correct it.",
  [Code.DeadlineExceeded]: "The caller's time limit passed first.",
  [Code.NotFound]: "There is no such thing in this workspace.",
  [Code.AlreadyExists]: "The thing exists already, or the idempotency key was used for something else.",
  [Code.PermissionDenied]: "The key is valid but may not do this.",
  [Code.ResourceExhausted]: "A limit was reached. Wait as `Retry-After` says, or send less.",
  [Code.FailedPrecondition]: "The request is right, but something must be done first; the message says what.",
  [Code.Aborted]: "The call met another one that changed the same thing. Try again.",
  [Code.OutOfRange]: "The value lies outside what is kept; the message names the bounds.",
  [Code.Unimplemented]: "This version has no such method.",
  [Code.Internal]: "A fault of the service. Its log has the details under the request's id.",
  [Code.Unavailable]: "The service cannot answer for the moment. Try again with the same idempotency key.",
  [Code.DataLoss]: "Stored data is damaged.",
  [Code.Unauthenticated]: "The key is missing, malformed, unknown or revoked.",
};

const everyMethod: [Code, string][] = [
  [
    Code.InvalidArgument,
    "The body is not valid JSON, a field has the wrong type, an enum value or a timestamp is not valid, or `Connect-Protocol-Version: 1` is missing.",
  ],
  [Code.Unauthenticated, "The API key is missing, malformed, unknown or revoked. All four give the same answer."],
  [Code.PermissionDenied, "The key's permission does not allow the method."],
  [
    Code.ResourceExhausted,
    "More requests per second than the key may make, or a body over 64 MiB. A rate limit carries `google.rpc.RetryInfo` and a `Retry-After` header.",
  ],
  [Code.DeadlineExceeded, "The time of `Connect-Timeout-Ms` passed. A write that had begun is answered truly instead."],
  [Code.Unimplemented, "The method does not exist, or is planned and not yet served."],
  [Code.Unavailable, "The server is stopping or cannot reach its database. Nothing was stored."],
  [Code.Internal, "A fault of the service."],
];
