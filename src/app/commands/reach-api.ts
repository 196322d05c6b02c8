/** The way to a Posthorn elsewhere: its API over HTTP, with a key. */
import type { JsonObject } from "@bufbuild/protobuf";
import { Problem, type ProblemCode, problemCodes } from "../../rules/problem.ts";
import { UsageError } from "../command.ts";
import type { Reach, SendAnswer, StreamAnswer } from "./reach.ts";

export type Api = {
  call<T>(method: string, request: JsonObject, headers?: Record<string, string>): Promise<T>;
  /** A streaming method, a message a line. */
  stream<T>(method: string, request: JsonObject, signal: AbortSignal): AsyncGenerator<T>;
};

export function reachApi(at: { url: string; key: string }): Reach {
  const api = createApi(at);
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
    throw new UsageError(`${JSON.stringify(url)} is no address such as https://mail.example.com`);
  if (key === "")
    throw new UsageError(
      `Set POSTHORN_KEY to an API key of ${url}. It is not taken as a flag: others on this machine could read it.`,
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
    if (!answer.ok) throw await refusal(answer);
    return answer;
  }

  return {
    async call<T>(method: string, request: JsonObject, headers = {}) {
      return (await (await post(method, request, { headers })).json()) as T;
    },
    async *stream<T>(method: string, request: JsonObject, signal: AbortSignal) {
      const answer = await post(method, request, { signal });
      for await (const line of linesOf(answer.body!)) {
        const message = JSON.parse(line) as { error?: { code: string; message: string } };
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

async function refusal(answer: Response): Promise<Problem> {
  const text = await answer.text();
  try {
    return problemOf(JSON.parse(text) as { code: string; message: string });
  } catch {
    return new Problem("unknown", `HTTP ${answer.status}: ${text.slice(0, 500).trim() || "no words"}`);
  }
}

function problemOf({ code, message }: { code: string; message?: string }): Problem {
  const known = (problemCodes as readonly string[]).includes(code) ? (code as ProblemCode) : "unknown";
  return new Problem(known, `${known}: ${message ?? ""}`);
}

/** fetch hides why it failed in its cause. */
function reasonOf(error: unknown): string {
  const { cause, message } = error as { cause?: { code?: string; message?: string }; message?: string };
  return cause?.code ?? cause?.message ?? message ?? String(error);
}
