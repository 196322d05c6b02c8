// Generates docs/openapi.json, the contract as OpenAPI 3.1. The program serves it at /openapi.json.
import type { DescMethod, DescService, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { codeFromString, codeToHttpStatus } from "@connectrpc/connect/protocol-connect";
import { type Contract, readContract } from "./descriptors.ts";
import { readExample, requestPath } from "./examples.ts";
import { errorSchemas, messageSchemas, refTo } from "./openapi-schemas.ts";
import { methodText, permissionText, scopeText } from "./reference-service.ts";
import { paragraphs } from "./text.ts";

export const name = "OpenAPI file";
const path = "docs/openapi.json";

export async function generate(): Promise<Map<string, string>> {
  const contract = await readContract();
  return new Map([[path, `${JSON.stringify(await openapi(contract), null, 2)}\n`]]);
}

async function openapi(contract: Contract): Promise<JsonObject> {
  const paths: JsonObject = {};
  for (const method of contract.services.flatMap((service) => service.methods)) {
    const example = await readExample(requestPath(method));
    paths[`/${method.parent.typeName}/${method.name}`] = { post: operation(contract, method, example) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Posthorn",
      version: "1.0.0",
      summary: "Transactional email that you run yourself.",
      description: about,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [
      {
        url: "http://127.0.0.1:8825",
        description: "The default address of npm start. Replace it with the address of your instance.",
      },
    ],
    security: [{ key: [] }],
    tags: contract.services.map((service) => tag(contract, service)),
    paths,
    components: {
      securitySchemes: { key: { type: "http", scheme: "bearer", description: "An API key, `ph_…`." } },
      parameters,
      schemas: { ...messageSchemas(contract), ...errorSchemas },
    },
  };
}

const about =
  `Every method is an HTTP POST of a JSON object: the Connect protocol. The contract is defined in the files of proto/, which clients
for Connect, gRPC and gRPC-Web use; this file describes the same contract for OpenAPI tools. In responses every plain field is present, also when it is empty,
false or 0. Unknown fields in a request are ignored.`.replaceAll("\n", " ");

function tag(contract: Contract, service: DescService): JsonObject {
  return { name: service.name, description: paragraphs(contract.comment(service.typeName)) };
}

function operation(contract: Contract, method: DescMethod, example: JsonValue): JsonObject {
  const { text } = methodText(contract, method);
  const policy = contract.policy(method);
  const notes = [paragraphs(text), `Permission: ${permissionText(policy)}${scopeText(policy)}.`];
  if (policy.planned) notes.push("Planned: this version answers `unimplemented`.");
  const sends = method.name.startsWith("SendEmail");
  return {
    operationId: `${method.parent.name}_${method.name}`,
    tags: [method.parent.name],
    summary: /^.*?[.:](?=\s|$)/s.exec(text)![0].replaceAll("\n", " ").replace(/[.:]$/, ""),
    description: notes.join("\n\n"),
    parameters: ["protocol", "timeout", ...(sends ? ["idempotency"] : [])].map((one) => ({
      $ref: `#/components/parameters/${one}`,
    })),
    requestBody: {
      required: true,
      content: {
        "application/json": { schema: { $ref: refTo(method.input) }, examples: { example: { value: example } } },
      },
    },
    responses: { "200": answer(method), ...refusals(contract, method) },
  };
}

function answer(method: DescMethod): JsonObject {
  const schema = { $ref: refTo(method.output) };
  if (method.methodKind === "unary")
    return { description: "The response.", content: { "application/json": { schema } } };
  return {
    description:
      "A stream of messages, open until the caller closes it: one JSON object per line, or server-sent events when asked for with `Accept: text/event-stream`.",
    content: {
      "application/x-ndjson": { schema },
      "text/event-stream": { schema: { type: "string", description: "Each `data:` line contains one such object." } },
    },
  };
}

/** The errors that the method's comment lists, by HTTP status, and a default for the errors of every method. */
function refusals(contract: Contract, method: DescMethod): JsonObject {
  const byStatus = new Map<number, string[]>();
  for (const { code, when } of methodText(contract, method).errors) {
    const status = codeToHttpStatus(codeFromString(code)!);
    byStatus.set(status, [...(byStatus.get(status) ?? []), `\`${code}\`: ${when}`]);
  }
  const content = { "application/json": { schema: { $ref: "#/components/schemas/Error" } } };
  const named = [...byStatus].sort(([a], [b]) => a - b);
  return {
    ...Object.fromEntries(
      named.map(([status, texts]) => [String(status), { description: texts.join("\n\n"), content }]),
    ),
    default: { description: "Any other error.", content },
  };
}

const parameters: JsonObject = {
  protocol: {
    name: "Connect-Protocol-Version",
    in: "header",
    required: true,
    description: "The version of the protocol.",
    schema: { type: "integer", enum: [1] },
  },
  timeout: {
    name: "Connect-Timeout-Ms",
    in: "header",
    description: "Time limit of the call in milliseconds.",
    schema: { type: "integer", minimum: 0 },
  },
  idempotency: {
    name: "Idempotency-Key",
    in: "header",
    description:
      "Makes a retry safe: the same key with the same request returns the first response. Kept for 24 hours.",
    schema: { type: "string", maxLength: 256 },
  },
};
