/** Unary calls in Connect's JSON protocol, with deadline, retries and error mapping. Every noun of the client uses them. */
import { checkNumber, checkObject, checkSignal, checkString } from "./check.ts";
import { type Deadline, sleep, startDeadline } from "./deadline.ts";
import { asPosthornError, badArgument, PosthornError } from "./error.ts";
import { errorFromResponse, requestIdOf } from "./error-response.ts";
import type { UnaryMethods } from "./gen/methods.ts";
import { commonHeaders, type HttpRequest, post, toJson, unreachable } from "./request.ts";
import { type MethodName, retryDelayMs } from "./retry.ts";
import type { CallOptions, Settings } from "./settings.ts";

/** Makes the request within the deadline of the call. */
export type Prepare<T> = (deadline: Deadline) => Promise<T>;

export type Call = <M extends MethodName>(
  method: M,
  request: UnaryMethods[M]["request"] | Prepare<UnaryMethods[M]["request"]>,
  options?: CallOptions & { idempotencyKey?: string },
) => Promise<UnaryMethods[M]["response"]>;

export function createCall(settings: Settings): Call {
  return async (method, request, options = {}) => {
    if (typeof request !== "function") checkRequest(request);
    checkCallOptions(options);
    const maxRetries = options.maxRetries ?? settings.maxRetries;
    const deadline = startDeadline(options.timeoutMs ?? settings.timeoutMs, options.signal);
    try {
      const body = toJson(
        typeof request === "function" ? await prepared(request as Prepare<unknown>, deadline) : request,
      );
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

/** Fields that methods of the client take as separate arguments. JSON would leave out a missing one. */
const requiredTexts = ["id", "webhookId", "deliveryId", "attachmentId", "destination", "address"];

function checkRequest(request: object): void {
  checkObject(request, "request");
  for (const name of requiredTexts) if (name in request) checkString((request as Record<string, unknown>)[name], name);
}

/** Errors of the caller's own objects, such as a getter that throws, become PosthornErrors too. */
async function prepared<T>(prepare: Prepare<T>, deadline: Deadline): Promise<T> {
  return await prepare(deadline).catch((error: unknown) => {
    throw asPosthornError(error);
  });
}

function checkCallOptions(options: CallOptions & { idempotencyKey?: string }): void {
  checkObject(options, "options");
  checkSignal(options.signal);
  checkNumber(options.timeoutMs, "timeoutMs");
  checkNumber(options.maxRetries, "maxRetries");
  const { idempotencyKey } = options;
  // fetch would reject other characters in a header with an error that does not mention the key.
  if (
    idempotencyKey !== undefined &&
    !(typeof idempotencyKey === "string" && /^[\x20-\x7e]{1,256}$/.test(idempotencyKey))
  )
    throw badArgument("idempotencyKey", "must be 1 to 256 printable ASCII characters");
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
    return await deadline.race(exchange(settings, { method, headers, body, signal: deadline.signal }));
  } catch (error) {
    return deadline.error() ?? unreachable(settings, error);
  }
}

async function exchange(settings: Settings, request: HttpRequest): Promise<unknown> {
  const response = await post(settings, request);
  if (!response.ok) return await errorFromResponse(response);
  const text = await response.text();
  return parse(text) ?? notJson(settings, response, text);
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
