// Generates docs/reference, the API reference, from the comments in proto/ and the examples in proto/examples.
import { type DescMessage, type DescMethod, fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type Contract, readContract } from "./descriptors.ts";
import { eventPath, readExample, requestPath } from "./examples.ts";
import { errorsPage } from "./reference-errors.ts";
import { eventsPage, eventTypes } from "./reference-events.ts";
import { permissionText, servicePage } from "./reference-service.ts";
import { methodLink, pageOf, table } from "./reference-types.ts";
import { prose } from "./text.ts";

export const name = "reference pages";
export const folder = "docs/reference";

export async function generate(): Promise<Map<string, string>> {
  const contract = await readContract();
  const requests = new Map<DescMethod, JsonValue>();
  for (const method of contract.services.flatMap((service) => service.methods)) {
    requests.set(method, await readExample(requestPath(method)));
  }
  const events = new Map<string, JsonValue>();
  for (const { type, field } of eventTypes(contract)) {
    events.set(type, asAnswered(field.parent, await readExample(eventPath(type))));
  }

  const pages = new Map<string, string>();
  const add = (page: string, text: string) => pages.set(`${folder}/${page}`, `${notice}\n\n${text}\n`);
  add("README.md", overviewPage(contract));
  for (const service of contract.services) add(pageOf(service.file), servicePage(contract, service, requests));
  add("events.md", eventsPage(contract, events));
  add("errors.md", errorsPage(contract));
  return pages;
}

/** The example as the server writes it, including plain fields that are empty, false or 0. */
function asAnswered(message: DescMessage, example: JsonValue): JsonValue {
  return toJson(message, fromJson(message, example), { alwaysEmitImplicit: true });
}

const notice = "<!-- Generated from proto/ by `npm run generate`. Edit the comments there, not this page. -->";

function overviewPage(contract: Contract): string {
  return [
    "# API reference",
    prose(intro),
    table(
      ["Header", "Value"],
      [
        ["`Authorization`", "`Bearer` followed by an API key. Required."],
        ["`Connect-Protocol-Version`", "`1`. Required."],
        ["`Content-Type`", "`application/json`, or `application/proto` for binary messages."],
        ["`Connect-Timeout-Ms`", "Time limit of the call in milliseconds. Optional."],
        ["`Idempotency-Key`", "For SendEmail and SendEmailBatch: makes a retry safe. Optional, up to 256 characters."],
      ],
    ),
    prose(values),
    "## Methods",
    table(
      ["Method", "Permission", "Note"],
      contract.services
        .flatMap((service) => service.methods)
        .map((method) => {
          const policy = contract.policy(method);
          return [methodLink(method, "README.md"), permissionText(policy), policy.planned ? "planned" : ""];
        }),
    ),
    prose(
      "The permission is that of the API key, see [KeyPermission](key.md#keypermission). A key with scopes needs one of those that each method names, see [KeyScope](key.md#keyscope). See also [events](events.md) and [errors](errors.md).",
    ),
  ].join("\n\n");
}

const intro = `Every method is an HTTP POST of a JSON object to \`/v1.<Service>/<Method>\` and returns a JSON object. This is the
Connect protocol; gRPC and gRPC-Web clients can call the same methods on the same port, and the files in \`proto/\` are the
contract for all of them. The same paths with an extra \`/v1\` prefix work identically.`;

const values = `Field names are in camel case. A timestamp is an RFC 3339 string in UTC, such as \`2026-01-31T09:30:00Z\`, with up to 9 digits
of fractional seconds. Integers have 32 bits. An enum value is its name as a string. Binary data is base64. In responses, every plain
field is present, also when it is empty, false or 0; objects, timestamps and fields marked as left out or absent may be missing.
Unknown fields in a request are ignored.

To read the next page of a list with \`pageSize\` and \`pageToken\`, pass the \`nextPageToken\` of the previous response; it is empty on the last page.`;
