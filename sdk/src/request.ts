/** One HTTP request to the server: its URL, headers and body, and the error when there is no response. call.ts and stream.ts use it. */
import { badArgument, PosthornError, reasonOf } from "./error.ts";
import type { Settings } from "./settings.ts";
import { version } from "./version.ts";

export function commonHeaders(settings: Settings): Record<string, string> {
  const headers = { authorization: `Bearer ${settings.apiKey}`, "connect-protocol-version": "1" };
  return userAgent === undefined ? headers : { ...headers, "user-agent": userAgent };
}

export const userAgent = userAgentOf(globalThis);

/** Browsers get none: they have their own, and in some of them setting it makes a request to another origin fail. */
export function userAgentOf(platform: object): string | undefined {
  const { process, document } = platform as { process?: { versions?: Record<string, string> }; document?: unknown };
  const runtime = ["bun", "deno", "node"].find((name) => process?.versions?.[name]);
  if (runtime === undefined || document !== undefined) return undefined;
  return `posthorn-sdk/${version} ${runtime}/${process!.versions![runtime]}`;
}

export interface HttpRequest {
  method: string;
  headers: Record<string, string>;
  body: string | Uint8Array<ArrayBuffer>;
  signal: AbortSignal;
}

export async function post(settings: Settings, request: HttpRequest): Promise<Response> {
  const { method, headers, body, signal } = request;
  const response = await settings.fetch(`${settings.baseUrl}/v1.${method}`, {
    method: "POST",
    headers,
    body,
    signal,
    // Only the key authenticates, so cookies are not sent. Redirects are not followed, because fetch would turn the POST into a GET.
    credentials: "omit",
    redirect: "manual",
  });
  // A replaced fetch may return anything.
  if (typeof response?.text !== "function" || typeof response.headers?.get !== "function")
    throw new TypeError("the fetch function that was passed to the client returned no Response");
  return response;
}

export function unreachable(settings: Settings, cause: unknown): PosthornError {
  return new PosthornError(
    "unavailable",
    `Posthorn cannot be reached at ${settings.baseUrl} (${reasonOf(cause)}). Check that it is running and that baseUrl or POSTHORN_URL is correct.`,
    { cause },
  );
}

export function toJson(request: unknown): string {
  try {
    return JSON.stringify(request, function (this: Record<string, unknown>, key, value: unknown) {
      const original = this[key];
      // JSON.stringify writes an invalid date as null, which the server reads as "not set": a scheduled email would be sent immediately.
      if (original instanceof Date && Number.isNaN(original.getTime())) throw badArgument(key, "is an invalid date");
      if (typeof value === "bigint") throw badArgument(key, "is a bigint: pass a number or a string");
      return value;
    });
  } catch (error) {
    if (error instanceof PosthornError) throw error;
    throw badArgument("request", `cannot be written as JSON: ${reasonOf(error)}`);
  }
}
