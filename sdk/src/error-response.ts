/** Converts error responses to PosthornError: Connect's error object, or a response from another program such as a proxy. */
import { type ErrorCode, errorCodes, PosthornError } from "./error.ts";
import { readDetails } from "./error-details.ts";

/** Converts an HTTP response with an error status. */
export async function errorFromResponse(response: Response): Promise<PosthornError> {
  const text = await response.text().catch(() => "");
  const object = parseObject(text);
  // In a Connect error, code is a known string. Other JSON is from a program that is not Posthorn.
  if (object && isCode(object.code)) return errorFromObject(object, response);
  return new PosthornError(codeOfStatus(response.status), describe(response, text), {
    requestId: requestIdOf(response),
    retryAfterMs: retryAfterOf(response),
  });
}

/** Converts Connect's error object, from the body of a unary response or the last frame of a stream. */
export function errorFromObject(object: { code?: unknown; message?: unknown; details?: unknown }, response: Response) {
  const details = readDetails(object.details);
  return new PosthornError(
    isCode(object.code) ? object.code : "unknown",
    typeof object.message === "string" && object.message !== "" ? object.message : "The server did not give a reason.",
    {
      ...details,
      retryAfterMs: details.retryAfterMs ?? retryAfterOf(response),
      requestId: requestIdOf(response),
    },
  );
}

export function requestIdOf(response: Response): string | undefined {
  return response.headers.get("x-request-id") ?? undefined;
}

function isCode(value: unknown): value is ErrorCode {
  return (errorCodes as readonly unknown[]).includes(value);
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Connect's mapping for responses without an error object, and 413, which proxies return for a large body. */
function codeOfStatus(status: number): ErrorCode {
  if (status === 400) return "internal";
  if (status === 401) return "unauthenticated";
  if (status === 403) return "permission_denied";
  if (status === 404) return "unimplemented";
  if (status === 413) return "resource_exhausted";
  return [429, 502, 503, 504].includes(status) ? "unavailable" : "unknown";
}

function describe(response: Response, text: string): string {
  const target = response.headers.get("location");
  // With redirect: "manual", browsers hide the status and the headers of a redirect.
  if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400 && target))
    return `The server redirects${target ? ` to ${target}` : ""}. Set baseUrl to the final URL of the Posthorn server.`;
  const excerpt = text.replace(/\s+/g, " ").trim().slice(0, 200);
  return `HTTP ${response.status}${excerpt ? `: ${excerpt}` : ""}. The response is not from the Posthorn API: check baseUrl and any proxy in between.`;
}

function retryAfterOf(response: Response): number | undefined {
  const text = response.headers.get("retry-after");
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) * 1000 : undefined;
}
