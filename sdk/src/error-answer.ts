/** Turns what came back instead of a result into a PosthornError: Connect's error object, or a foreign answer. */
import { type ErrorCode, errorCodes, PosthornError } from "./error.ts";
import { readDetails } from "./error-details.ts";

/** An HTTP answer that is no result. */
export async function errorFromResponse(response: Response): Promise<PosthornError> {
  const text = await response.text().catch(() => "");
  const object = parseObject(text);
  // A Connect error has its code as a string; other JSON comes from something that is not Posthorn.
  if (object && isCode(object.code)) return errorFromObject(object, response);
  return new PosthornError(codeOfStatus(response.status), describe(response, text), {
    requestId: requestIdOf(response),
    retryAfterMs: retryAfterOf(response),
  });
}

/** Connect's error object, from the body of a unary call or the end of a stream. */
export function errorFromObject(object: { code?: unknown; message?: unknown; details?: unknown }, response: Response) {
  const details = readDetails(object.details);
  return new PosthornError(
    isCode(object.code) ? object.code : "unknown",
    typeof object.message === "string" && object.message !== "" ? object.message : "The server gave no reason.",
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

/** The table of the Connect protocol for answers without an error object, and 413, which proxies give for a large body. */
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
  // With redirect: "manual", a browser shows a redirect as status 0 and nothing more.
  if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400 && target))
    return `The server redirects${target ? ` to ${target}` : ""}. Set baseUrl to the address where Posthorn itself answers.`;
  const said = text.replace(/\s+/g, " ").trim().slice(0, 200);
  return `HTTP ${response.status}${said ? `: ${said}` : ""}. This is no answer of Posthorn's API: check baseUrl, and any proxy in between.`;
}

function retryAfterOf(response: Response): number | undefined {
  const text = response.headers.get("retry-after");
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) * 1000 : undefined;
}
