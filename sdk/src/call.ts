/** One call with one answer, in Connect's unary JSON: its deadline, its retries, its errors. */
import { type Deadline, sleep, startDeadline } from "./deadline.ts";
import { badArgument, PosthornError } from "./error.ts";
import { errorFromResponse, requestIdOf } from "./error-answer.ts";
import type { UnaryMethods } from "./gen/methods.ts";
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

/** The result, or the error as a value. */
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
    return parse(text) ?? foreignAnswer(settings, response, text);
  } catch (error) {
    return deadline.error() ?? unreachable(settings, error);
  }
}

export function commonHeaders(settings: Settings): Record<string, string> {
  return { authorization: `Bearer ${settings.apiKey}`, "connect-protocol-version": "1" };
}

export function post(
  settings: Settings,
  request: { method: string; headers: Record<string, string>; body: BodyInit; signal: AbortSignal },
): Promise<Response> {
  const { method, headers, body, signal } = request;
  return settings.fetch(`${settings.baseUrl}/v1.${method}`, {
    method: "POST",
    headers,
    body,
    signal,
    // The key is the identity: cookies of a page stay out. A redirect would turn the POST into a GET.
    credentials: "omit",
    redirect: "manual",
  });
}

export function unreachable(settings: Settings, cause: unknown): PosthornError {
  const { message, cause: inner } = cause as { message?: string; cause?: { message?: string; code?: string } };
  const reason = inner?.message || inner?.code || message || String(cause);
  return new PosthornError(
    "unavailable",
    `Posthorn cannot be reached at ${settings.baseUrl} (${reason}). Is it running, and is baseUrl or POSTHORN_URL right?`,
    { cause },
  );
}

export function toJson(request: unknown): string {
  return JSON.stringify(request, function (this: Record<string, unknown>, key, value: unknown) {
    const original = this[key];
    // JSON writes an invalid date as null, which the server reads as "not set": a scheduled email would go out at once.
    if (original instanceof Date && Number.isNaN(original.getTime())) throw badArgument(key, "is an invalid date");
    return value;
  });
}

/** The server is told a little less than we wait, so that its own, truer answer comes before we hang up. */
function timeoutHeader(remainingMs: number): Record<string, string> {
  if (!Number.isFinite(remainingMs) || remainingMs >= 1e10) return {};
  const told = Math.floor(remainingMs - Math.min(500, remainingMs / 10));
  return { "connect-timeout-ms": String(Math.max(1, told)) };
}

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function foreignAnswer(settings: Settings, response: Response, text: string): PosthornError {
  const said = text.replace(/\s+/g, " ").trim().slice(0, 80);
  return new PosthornError(
    "unknown",
    `${settings.baseUrl} answered with something that is no JSON object (${JSON.stringify(said)}). Is it a Posthorn server?`,
    { requestId: requestIdOf(response) },
  );
}
