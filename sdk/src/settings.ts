/** What a client is set up with: the options of `new Posthorn`, the environment, and the defaults, checked once. */
import { badArgument, PosthornError } from "./error.ts";

export interface PosthornOptions {
  /** The API key, `ph_…`. Default: the environment variable POSTHORN_KEY. */
  apiKey?: string;
  /** Where the server is. Default: the environment variable POSTHORN_URL, else http://127.0.0.1:8825. */
  baseUrl?: string;
  /** How long a call may take, its retries included. Default 30,000. */
  timeoutMs?: number;
  /** How often a call is tried again after `unavailable` or a rate limit, where that is safe. Default 3. */
  maxRetries?: number;
  /** Another fetch, for a proxy or a runtime of your own. */
  fetch?: typeof fetch;
}

/** Options of a single call. */
export interface CallOptions {
  /** Ends the call with `canceled`. */
  signal?: AbortSignal;
  /** How long this call may take, its retries included. */
  timeoutMs?: number;
  /** How often this call is tried again. */
  maxRetries?: number;
}

export interface Settings {
  apiKey: string;
  baseUrl: string;
  timeoutMs: number;
  maxRetries: number;
  fetch: typeof fetch;
}

const defaultUrl = "http://127.0.0.1:8825";

export function readSettings(options: PosthornOptions): Settings {
  const apiKey = (options.apiKey ?? environment("POSTHORN_KEY") ?? "").trim();
  if (apiKey === "") {
    throw new PosthornError(
      "unauthenticated",
      'No API key. Pass it as new Posthorn({ apiKey: "ph_…" }) or set POSTHORN_KEY. The first start of the server writes a key to the file first-key in its data directory; "posthorn keys create" makes another.',
    );
  }
  // Fetch would refuse such a header with a message that says nothing about the key.
  if (!/^[\x21-\x7e]+$/.test(apiKey)) throw badArgument("apiKey", "holds a blank or a character outside ASCII");
  return {
    apiKey,
    baseUrl: readUrl(options.baseUrl ?? environment("POSTHORN_URL") ?? defaultUrl),
    timeoutMs: options.timeoutMs ?? 30_000,
    maxRetries: options.maxRetries ?? 3,
    // Called as a bare function: a browser's fetch refuses to be a method of another object.
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
  };
}

function readUrl(text: string): string {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw badArgument("baseUrl", `${JSON.stringify(text)} is no http or https address such as ${defaultUrl}`);
  if (url.username !== "" || url.search !== "" || url.hash !== "")
    throw badArgument("baseUrl", "must have no user name, no query and no fragment");
  return url.href.replace(/\/+$/, "");
}

function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name] || undefined;
}
