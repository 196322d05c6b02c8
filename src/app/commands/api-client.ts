/** The API of another Posthorn over HTTP with a key. local-api.ts is the same interface for the local store; with-api.ts chooses.
 * Used by with-api.ts, profiles.ts and posthorn demo. */
import { fromBinary, type JsonObject } from "@bufbuild/protobuf";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { Problem, type ProblemCode, problemCodes } from "../../ops/problem.ts";
import { checked } from "./target.ts";

/** The API for one workspace. Methods are named as in URLs, `EmailService/SendEmail`; requests and answers are the API's JSON. */
export type Api = {
  call<T = JsonObject>(method: string, request: JsonObject, headers?: Record<string, string>): Promise<T>;
  /** A streaming method; yields its messages. */
  stream<T>(method: string, request: JsonObject, signal?: AbortSignal): AsyncGenerator<T>;
};

export type SendAnswer = { id: string; status: string; messageId: string; statusMessage: string };
export type WireEvent = JsonObject & { id: string; type: string; createdAt: string; emailId: string };
export type StreamAnswer = { cursor: string; event?: WireEvent };

/** Longer than any call takes: a synchronous send waits up to 10 s, a check of DNS 5 s, an import some seconds. */
const answerWithinMs = 120_000;

export function createApi(target: { url: string; key: string }): Api {
  const { url: base, key } = checked(target);

  async function post(method: string, request: JsonObject, extra: { headers?: object; signal?: AbortSignal }) {
    const answer = await fetch(`${base}/v1.${method}`, {
      method: "POST",
      // A redirected POST would become a GET.
      redirect: "manual",
      headers: {
        authorization: `Bearer ${key}`,
        "connect-protocol-version": "1",
        "content-type": "application/json",
        ...extra.headers,
      },
      body: JSON.stringify(request),
      signal: extra.signal,
    }).catch((cause) => {
      throw away(base, cause);
    });
    if (answer.status >= 300 && answer.status < 400)
      throw new Problem(
        "unavailable",
        `${base} redirects to ${answer.headers.get("location") ?? "another place"}. Use the URL of the instance itself.`,
      );
    if (!answer.ok) throw await problemFrom(answer, base);
    return answer;
  }

  return {
    async call<T>(method: string, request: JsonObject, headers = {}) {
      const signal = AbortSignal.timeout(answerWithinMs);
      const answer = await post(method, request, { headers, signal });
      const text = await answer.text().catch((cause) => {
        throw away(base, cause);
      });
      return parsed<T>(text, base);
    },
    async *stream<T>(method: string, request: JsonObject, signal?: AbortSignal) {
      const answer = await post(method, request, { signal });
      for await (const line of linesOf(answer.body!)) {
        const message = parsed<{ error?: ErrorObject }>(line, base);
        if (message.error) throw problemOf(message.error);
        yield message as T;
      }
    },
  };
}

function away(base: string, cause: unknown): Problem {
  if ((cause as Error).name === "TimeoutError")
    return new Problem(
      "deadline_exceeded",
      `${base} did not answer within ${answerWithinMs / 1000} s. The call may have been carried out: check before you repeat it.`,
    );
  return new Problem("unavailable", `${base} does not answer: ${reasonOf(cause)}`, { cause });
}

function parsed<T>(text: string, base: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    throw notPosthorn(base, text);
  }
}

function notPosthorn(base: string, text: string): Problem {
  const start = text.slice(0, 200).trim();
  return new Problem("unknown", `${base} does not answer like Posthorn. Check the URL. It answered: ${start}`);
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
  // A proxy may end the answer of a server that died.
  if (rest !== "") throw new Problem("unavailable", "The connection was lost: the answer ends within a message");
}

async function problemFrom(answer: Response, base: string): Promise<Problem> {
  const text = await answer.text().catch(() => "");
  try {
    const error = JSON.parse(text) as ErrorObject;
    if (typeof error.code !== "string") throw new TypeError("not Connect's error object");
    return problemOf(error);
  } catch {
    const found = `HTTP ${answer.status}: ${text.slice(0, 500).trim() || "empty response"}`;
    return new Problem("unknown", answer.status === 404 ? `${found}. Is ${base} the URL of a Posthorn?` : found);
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
