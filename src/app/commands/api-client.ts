/** The API of another Posthorn over HTTP with a key, and the Client interface that commands use for it and for the local store
 * (store-client.ts). Used by posthorn send, events, queue and demo. */
import { fromBinary, type JsonObject } from "@bufbuild/protobuf";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { Problem, type ProblemCode, problemCodes } from "../../ops/problem.ts";
import { type Option, UsageError } from "../command.ts";

/** Emails and events of one workspace, on the local store or through an API. Requests and answers are the API's JSON. */
export type Client = {
  /** SendEmail. */
  send(request: JsonObject, options?: { idempotencyKey?: string }): Promise<SendAnswer>;
  /** StreamEvents. */
  events(request: JsonObject, signal: AbortSignal): AsyncIterable<StreamAnswer>;
  /** Whether a running program delivers queued mail. */
  delivers(): Promise<boolean>;
};

export type SendAnswer = { id: string; status: string; messageId: string; statusMessage: string };
export type WireEvent = JsonObject & { id: string; type: string; createdAt: string; emailId: string };
export type StreamAnswer = { cursor: string; event?: WireEvent };

export const urlOption: Option = {
  type: "string",
  help: "URL of another Posthorn, with its key in POSTHORN_KEY; default: POSTHORN_URL, or else the local data directory",
};

export type Api = {
  call<T>(method: string, request: JsonObject, headers?: Record<string, string>): Promise<T>;
  /** A streaming method; yields one message per line. */
  stream<T>(method: string, request: JsonObject, signal: AbortSignal): AsyncGenerator<T>;
};

export function createApiClient(target: { url: string; key: string }): Client {
  const api = createApi(target);
  return {
    send: (request, { idempotencyKey } = {}) =>
      api.call<SendAnswer>(
        "EmailService/SendEmail",
        request,
        idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey },
      ),
    events: (request, signal) => api.stream<StreamAnswer>("EmailService/StreamEvents", request, signal),
    delivers: async () => true,
  };
}

export function createApi({ url, key }: { url: string; key: string }): Api {
  if (!URL.canParse(url) || !/^https?:/.test(url))
    throw new UsageError(`${JSON.stringify(url)} is not a URL such as https://mail.example.com`);
  if (key === "")
    throw new UsageError(
      `Set POSTHORN_KEY to an API key of ${url}. There is no flag for it, because other accounts on this machine could read it.`,
    );
  const base = url.replace(/\/+$/, "");

  async function post(method: string, request: JsonObject, extra: { headers?: object; signal?: AbortSignal }) {
    const answer = await fetch(`${base}/v1.${method}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "connect-protocol-version": "1",
        "content-type": "application/json",
        ...extra.headers,
      },
      body: JSON.stringify(request),
      signal: extra.signal,
    }).catch((cause) => {
      throw new Problem("unavailable", `${base} does not answer: ${reasonOf(cause)}`, { cause });
    });
    if (!answer.ok) throw await problemFrom(answer);
    return answer;
  }

  return {
    async call<T>(method: string, request: JsonObject, headers = {}) {
      return (await (await post(method, request, { headers })).json()) as T;
    },
    async *stream<T>(method: string, request: JsonObject, signal: AbortSignal) {
      const answer = await post(method, request, { signal });
      for await (const line of linesOf(answer.body!)) {
        const message = JSON.parse(line) as { error?: ErrorObject };
        if (message.error) throw problemOf(message.error);
        yield message as T;
      }
    },
  };
}

async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for await (const chunk of body) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line !== "") yield line;
    }
  } catch (cause) {
    throw new Problem("unavailable", `The connection was lost: ${reasonOf(cause)}`, { cause });
  }
}

async function problemFrom(answer: Response): Promise<Problem> {
  const text = await answer.text();
  try {
    return problemOf(JSON.parse(text) as ErrorObject);
  } catch {
    return new Problem("unknown", `HTTP ${answer.status}: ${text.slice(0, 500).trim() || "empty response"}`);
  }
}

/** Connect's error object. The details are protobuf messages in base64. */
type ErrorObject = { code: string; message?: string; details?: { type: string; value: string }[] };

function problemOf({ code, message, details = [] }: ErrorObject): Problem {
  const known = (problemCodes as readonly string[]).includes(code) ? (code as ProblemCode) : "unknown";
  const info = details.find(({ type }) => type === ErrorInfoSchema.typeName);
  return new Problem(
    known,
    `${known}: ${message ?? ""}`,
    info && fromBinary(ErrorInfoSchema, Buffer.from(info.value, "base64")),
  );
}

/** fetch puts the reason of a failure into `cause`. */
function reasonOf(error: unknown): string {
  const { cause, message } = error as { cause?: { code?: string; message?: string }; message?: string };
  return cause?.code ?? cause?.message ?? message ?? String(error);
}
