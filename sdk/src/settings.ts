/** Settings of a client. The constructor reads them once from its options, the environment and the defaults. */
import { checkFunction, checkNumber, checkObject, checkString } from "./check.ts";
import { badArgument, PosthornError } from "./error.ts";
import type { AbortSignal, Fetch } from "./platform.ts";

export interface PosthornOptions {
  /** The API key, `ph_…`. Default: the environment variable POSTHORN_KEY. */
  apiKey?: string;
  /** URL of the server. Default: the environment variable POSTHORN_URL, else http://127.0.0.1:8825. */
  baseUrl?: string;
  /** Time limit of a call, including its retries. Default 30,000. */
  timeoutMs?: number;
  /** How many times a call is retried after `unavailable` or a rate limit, if a retry is safe. Default 3. */
  maxRetries?: number;
  /** The most bytes that one call reads from streams, files and URLs of attachments. Default 40 MiB, the server's default for an email. */
  maxAttachmentBytes?: number;
  /** Replaces the global fetch, for example to use a proxy. */
  fetch?: Fetch;
}

/** Options of a single call. */
export interface CallOptions {
  /** Aborting it ends the call with `canceled`. */
  signal?: AbortSignal;
  /** Time limit of this call, including its retries. */
  timeoutMs?: number;
  /** How many times this call is retried. */
  maxRetries?: number;
}

export interface Settings {
  apiKey: string;
  baseUrl: string;
  timeoutMs: number;
  maxRetries: number;
  maxAttachmentBytes: number;
  fetch: Fetch;
}

const defaultUrl = "http://127.0.0.1:8825";

export function readSettings(options: PosthornOptions): Settings {
  checkObject(options, "options", 'must be an object, as in new Posthorn({ apiKey: "ph_…" })');
  if (options.apiKey !== undefined) checkString(options.apiKey, "apiKey");
  checkNumber(options.timeoutMs, "timeoutMs");
  checkNumber(options.maxRetries, "maxRetries");
  checkNumber(options.maxAttachmentBytes, "maxAttachmentBytes");
  checkFunction(options.fetch, "fetch");
  const apiKey = (options.apiKey ?? environment("POSTHORN_KEY") ?? "").trim();
  if (apiKey === "") {
    throw new PosthornError(
      "unauthenticated",
      'No API key. Pass it as new Posthorn({ apiKey: "ph_…" }) or set POSTHORN_KEY. The first start of the server writes a key to the file first-key in its data directory; "posthorn keys create" creates another.',
    );
  }
  // fetch would reject the header with an error that does not mention the key.
  if (!/^[\x21-\x7e]+$/.test(apiKey))
    throw badArgument("apiKey", "contains a space or a character outside ASCII: check that it was copied correctly");
  return {
    apiKey,
    baseUrl: readUrl(options.baseUrl ?? environment("POSTHORN_URL") ?? defaultUrl),
    timeoutMs: options.timeoutMs ?? 30_000,
    maxRetries: options.maxRetries ?? 3,
    maxAttachmentBytes: options.maxAttachmentBytes ?? 40 * 1024 * 1024,
    // Called as a plain function, because a browser's fetch throws when it is called as a method of another object.
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
  };
}

function readUrl(value: unknown): string {
  const text = value instanceof URL ? value.href : value;
  checkString(text, "baseUrl", `must be an http or https URL such as ${defaultUrl}`);
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw badArgument("baseUrl", `${JSON.stringify(text)} is not an http or https URL such as ${defaultUrl}`);
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw badArgument("baseUrl", "must not have a user name, a password, a query or a fragment");
  return url.href.replace(/\/+$/, "");
}

function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name] || undefined;
}
