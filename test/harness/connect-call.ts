/** Makes one Connect call with JSON by hand, unary or streaming, and returns the outcome in one form for both. */
import type { DescMethod } from "@bufbuild/protobuf";

export type Outcome = {
  status: number;
  headers: Headers;
  /** `ok`, or the error's code. */
  code: string;
  message: string;
  violations: { field: string; description: string }[];
  /** The response message, the first message of a stream, or the error object. */
  body: Record<string, unknown>;
};

export type CallOptions = {
  key?: string;
  /** Headers in addition to the usual ones; undefined removes a header. */
  headers?: Record<string, string | undefined>;
  path?: string;
  /** Sent unchanged instead of the request, for JSON that JSON.stringify cannot produce. */
  rawJson?: string;
};

export async function connectCall(
  url: string,
  method: DescMethod,
  request: unknown,
  options: CallOptions = {},
): Promise<Outcome> {
  const streaming = method.methodKind !== "unary";
  const json = Buffer.from(options.rawJson ?? JSON.stringify(request));
  const headers = new Headers({
    "content-type": streaming ? "application/connect+json" : "application/json",
    "connect-protocol-version": "1",
  });
  if (options.key) headers.set("authorization", `Bearer ${options.key}`);
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    if (value === undefined) headers.delete(name);
    else headers.set(name, value);
  }
  const leave = new AbortController();
  const response = await fetch(url + (options.path ?? pathOf(method)), {
    method: "POST",
    headers,
    body: streaming ? envelope(json) : json,
    signal: leave.signal,
  });
  try {
    const type = response.headers.get("content-type") ?? "";
    if (!type.includes("json")) return outcome(response, { code: "none", message: await response.text() });
    if (!type.startsWith("application/connect+")) return outcome(response, (await response.json()) as Body);
    return outcome(response, await firstOf(response));
  } finally {
    // Ends a stream that is still open.
    leave.abort();
  }
}

export function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

type Body = Record<string, unknown>;

function outcome(response: Response, body: Body): Outcome {
  const failed = response.status !== 200 || body.error !== undefined;
  const error = (body.error ?? body) as { code?: string; message?: string; details?: { debug?: Body }[] };
  const violations = (error.details ?? []).flatMap((d) => (d.debug?.fieldViolations ?? []) as Outcome["violations"]);
  return {
    status: response.status,
    headers: response.headers,
    code: failed ? (error.code ?? "none") : "ok",
    message: failed ? (error.message ?? "") : "",
    violations: failed ? violations : [],
    body: failed ? (error as Body) : body,
  };
}

function envelope(json: Buffer): Buffer<ArrayBuffer> {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(json.length, 1);
  return Buffer.concat([head, json]);
}

/** The first envelope: a message, or the end of the stream with its error. */
async function firstOf(response: Response): Promise<Body> {
  let bytes = Buffer.alloc(0);
  for await (const chunk of response.body!) {
    bytes = Buffer.concat([bytes, chunk]);
    if (bytes.length >= 5 && bytes.length >= 5 + bytes.readUInt32BE(1)) break;
  }
  return JSON.parse(bytes.subarray(5, 5 + bytes.readUInt32BE(1)).toString("utf8")) as Body;
}
