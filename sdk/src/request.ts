/** One HTTP request to the server: its URL, headers and body, and the error when there is no response. call.ts and stream.ts use it. */
import { badArgument, PosthornError } from "./error.ts";
import type { Settings } from "./settings.ts";

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
    // Only the key authenticates, so cookies are not sent. Redirects are not followed, because fetch would turn the POST into a GET.
    credentials: "omit",
    redirect: "manual",
  });
}

export function unreachable(settings: Settings, cause: unknown): PosthornError {
  const { message, cause: inner } = cause as { message?: string; cause?: { message?: string; code?: string } };
  const reason = inner?.message || inner?.code || message || String(cause);
  return new PosthornError(
    "unavailable",
    `Posthorn cannot be reached at ${settings.baseUrl} (${reason}). Check that it is running and that baseUrl or POSTHORN_URL is correct.`,
    { cause },
  );
}

export function toJson(request: unknown): string {
  return JSON.stringify(request, function (this: Record<string, unknown>, key, value: unknown) {
    const original = this[key];
    // JSON.stringify writes an invalid date as null, which the server reads as "not set": a scheduled email would be sent immediately.
    if (original instanceof Date && Number.isNaN(original.getTime())) throw badArgument(key, "is an invalid date");
    return value;
  });
}
