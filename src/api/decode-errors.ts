/** Makes a message that could not be decoded as helpful as any other mistake: the field, in the caller's own spelling, and a detail. */
import { create, toBinary, toJson } from "@bufbuild/protobuf";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import { BadRequestSchema } from "../gen/google/rpc/error_details_pb.ts";

/** Connect decodes before any code of ours runs, so its answer is amended afterwards. Only small 400 answers are read. */
export async function explainDecodeErrors(
  response: UniversalServerResponse,
  found: () => void,
): Promise<UniversalServerResponse> {
  if (response.status !== 400 || response.body === undefined || response.header?.get("content-encoding"))
    return response;
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8");
  const better = explain(text);
  if (better !== undefined) found();
  const body = Buffer.from(better ?? text);
  response.header?.set("content-length", String(body.length));
  return { ...response, body: single(body) };
}

function explain(text: string): string | undefined {
  const error = JSON.parse(text) as { code: string; message?: string; details?: unknown[] };
  const match = /^cannot decode (?:field|message) v1\.([\w.]+) from JSON(?:: (.*))?$/s.exec(error.message ?? "");
  if (error.code !== "invalid_argument" || error.details || !match) return undefined;
  const [message, field] = match[1]!.split(".");
  const reason = (match[2] ?? "it does not fit the type").slice(0, 300);
  const violation = { field: field ? camel(field) : "(request)", description: reason };
  const detail = create(BadRequestSchema, { fieldViolations: [violation] });
  return JSON.stringify({
    code: error.code,
    message: field
      ? `${violation.field}: ${reason}. See ${message} in the reference for its type.`
      : `The request is no ${message}: ${reason}`,
    details: [
      {
        type: BadRequestSchema.typeName,
        debug: toJson(BadRequestSchema, detail),
        value: Buffer.from(toBinary(BadRequestSchema, detail)).toString("base64").replace(/=+$/, ""),
      },
    ],
  });
}

function camel(field: string): string {
  return field.replace(/_([a-z0-9])/g, (_, c: string) => c.toUpperCase());
}

async function* single(body: Uint8Array): AsyncGenerator<Uint8Array> {
  yield body;
}
