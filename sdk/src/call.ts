/** Unary calls in Connect's JSON protocol, with deadline, retries and error mapping. Every noun of the client uses them. */
import { type Deadline, sleep, startDeadline } from "./deadline.ts";
import { PosthornError } from "./error.ts";
import { errorFromResponse, requestIdOf } from "./error-response.ts";
import type { UnaryMethods } from "./gen/methods.ts";
import { commonHeaders, post, toJson, unreachable } from "./request.ts";
import { type MethodName, retryDelayMs } from "./retry.ts";
import type { CallOptions, Settings } from "./settings.ts";

export type Call = <M extends MethodName>(
  method: M,
  request: UnaryMethods[M]["request"],
  options?: CallOptions & { idempotencyKey?: string },
) => Promise<UnaryMethods[M]["response"]>;

export function createCall(settings: Settings): Call {
  return async (method, request, options = {}) => {
    const body = toJson(request);
    const maxRetries = options.maxRetries ?? settings.maxRetries;
    const deadline = startDeadline(options.timeoutMs ?? settings.timeoutMs, options.signal);
    try {
      for (let failures = 1; ; failures++) {
        const outcome = await tryOnce(settings, { method, body, deadline, idempotencyKey: options.idempotencyKey });
        if (!(outcome instanceof PosthornError)) return outcome as never;
        const delayMs = retryDelayMs(outcome, { method, failures, random: Math.random() });
        if (delayMs === undefined || failures > maxRetries || delayMs >= deadline.remainingMs()) throw outcome;
        await sleep(delayMs, deadline.signal);
        if (deadline.signal.aborted) throw deadline.error();
      }
    } finally {
      deadline.clear();
    }
  };
}

interface Attempt {
  method: MethodName;
  body: string;
  deadline: Deadline;
  idempotencyKey: string | undefined;
}

/** Makes one attempt. Returns the response, or a PosthornError as a value. */
async function tryOnce(settings: Settings, attempt: Attempt): Promise<unknown> {
  const { method, body, deadline, idempotencyKey } = attempt;
  const headers: Record<string, string> = {
    ...commonHeaders(settings),
    "content-type": "application/json",
    ...timeoutHeader(deadline.remainingMs()),
  };
  if (idempotencyKey !== undefined) headers["idempotency-key"] = idempotencyKey;
  try {
    const response = await post(settings, { method, headers, body, signal: deadline.signal });
    if (!response.ok) return await errorFromResponse(response);
    const text = await response.text();
    return parse(text) ?? notJson(settings, response, text);
  } catch (error) {
    return deadline.error() ?? unreachable(settings, error);
  }
}

/** The server gets a slightly shorter timeout than the client, so that its own error arrives before the client gives up. */
function timeoutHeader(remainingMs: number): Record<string, string> {
  if (!Number.isFinite(remainingMs) || remainingMs >= 1e10) return {};
  const serverTimeoutMs = Math.floor(remainingMs - Math.min(500, remainingMs / 10));
  return { "connect-timeout-ms": String(Math.max(1, serverTimeoutMs)) };
}

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A successful HTTP status without a JSON object: another program responds at this address. */
function notJson(settings: Settings, response: Response, text: string): PosthornError {
  const excerpt = text.replace(/\s+/g, " ").trim().slice(0, 80);
  return new PosthornError(
    "unknown",
    `The response from ${settings.baseUrl} is not a JSON object: ${JSON.stringify(excerpt)}. Check that baseUrl points to a Posthorn server.`,
    { requestId: requestIdOf(response) },
  );
}
