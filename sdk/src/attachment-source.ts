/** Reads the content of an attachment from a stream, a local file or a URL. attachment.ts calls it. */
import { collectBytes } from "./bytes.ts";
import { nameOf } from "./check.ts";
import { badArgument, type ErrorCode, PosthornError, reasonOf } from "./error.ts";
import type { ReadableStream, URL as UrlObject } from "./platform.ts";
import { type Reading, tooLarge } from "./reading.ts";
import { userAgent } from "./request.ts";

export interface Loaded {
  bytes: Uint8Array;
  /** The name in the path or the URL. */
  filename?: string;
  /** The type that a web server reported. */
  contentType?: string;
}

/** Chunks, and how to stop them when the rest is not wanted. */
interface Source {
  next(): Promise<{ done?: boolean; value?: unknown }>;
  stop(): void;
}

export function isStream(content: object): content is AsyncIterable<unknown> | ReadableStream {
  const { getReader, pipe } = content as { getReader?: unknown; pipe?: unknown };
  return typeof getReader === "function" || typeof pipe === "function" || Symbol.asyncIterator in content;
}

/** Streams that were read, so that a second use is an error instead of an empty or a divided file. */
const usedStreams = new WeakSet<object>();

export async function readStream(stream: object, field: string, reading: Reading): Promise<Uint8Array> {
  const { readableDidRead, locked } = stream as { readableDidRead?: boolean; locked?: boolean };
  if (usedStreams.has(stream) || readableDidRead || locked)
    throw badArgument(field, "is a stream that was already read: create a new one for each attachment");
  usedStreams.add(stream);
  return await collect(sourceOf(stream, field), field, reading);
}

function sourceOf(stream: object, field: string): Source {
  if ("getReader" in stream) {
    const reader = (stream as ReadableStream).getReader();
    return { next: () => reader.read(), stop: () => void reader.cancel().catch(() => {}) };
  }
  if (!(Symbol.asyncIterator in stream))
    throw badArgument(field, "is a stream of an old kind: wrap it with new Readable().wrap(stream)");
  const iterator = (stream as AsyncIterable<unknown>)[Symbol.asyncIterator]();
  const { destroy } = stream as { destroy?: () => void };
  const stop = () => {
    // A Node stream is destroyed directly, because its iterator ends only after a read that may never finish.
    if (typeof destroy === "function") destroy.call(stream);
    else void iterator.return?.()?.catch(() => {});
  };
  return { next: () => iterator.next(), stop };
}

async function collect(source: Source, field: string, reading: Reading): Promise<Uint8Array> {
  const collected = collectBytes();
  try {
    for (;;) {
      const { done, value } = await reading.race(source.next());
      if (done) return collected.joined();
      const part = bytesOf(value, field);
      reading.count(part.length, field);
      collected.add(part);
    }
  } catch (error) {
    source.stop();
    throw problemOf(error, field);
  }
}

function bytesOf(chunk: unknown, field: string): Uint8Array {
  if (typeof chunk === "string") return new TextEncoder().encode(chunk);
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
  throw badArgument(field, `must be a stream of bytes or text; it has ${nameOf(chunk)}`);
}

interface Files {
  createReadStream(path: string | UrlObject): object;
  promises: { stat(path: string | UrlObject): Promise<{ size: number; isFile(): boolean }> };
}

/** Reads a local file. `path` may be a file URL. */
export async function readFile(path: string | UrlObject, field: string, reading: Reading): Promise<Loaded> {
  const location = locationOf(path, field);
  const files = await nodeModule<Files>("node:fs");
  if (!files) throw badArgument(field, "works only in Node, Deno and Bun: pass the bytes or a Blob as content");
  let size: number;
  try {
    const found = await reading.race(files.promises.stat(location));
    // Opening a pipe could block a thread forever.
    if (!found.isFile())
      throw badArgument(field, "is no regular file: pass a stream as content to read from a device or pipe");
    size = found.size;
  } catch (error) {
    throw problemOf(error, field);
  }
  if (size > reading.maxBytes) throw tooLarge(reading.maxBytes, field);
  const bytes = await collect(sourceOf(files.createReadStream(location), field), field, reading);
  return { bytes, filename: lastSegment(typeof location === "string" ? location : location.href) };
}

function locationOf(path: unknown, field: string): string | UrlObject {
  if (path instanceof URL || (typeof path === "string" && /^file:/i.test(path))) {
    const url = URL.canParse(String(path)) ? new URL(String(path)) : undefined;
    if (url?.protocol === "file:") return url;
  } else if (typeof path === "string" && path !== "" && !/^(https?|data):/i.test(path)) {
    return path;
  }
  throw badArgument(field, "must be the path or the file URL of a local file. Use url for other URLs");
}

/** Node's own modules, loaded so that bundlers for browsers do not look for them. */
async function nodeModule<T>(name: string): Promise<T | undefined> {
  const { process } = globalThis as {
    process?: { versions?: { node?: string }; getBuiltinModule?: (name: string) => unknown };
  };
  if (!process?.versions?.node) return undefined;
  // getBuiltinModule is missing before Node 20.16.
  return (process.getBuiltinModule?.(name) ?? (await import(/* webpackIgnore: true */ /* @vite-ignore */ name))) as T;
}

/** Downloads an http or https URL, or decodes a data URL. Local files are excluded, because the URL may be a user's. */
export async function readUrl(input: string | UrlObject, field: string, reading: Reading): Promise<Loaded> {
  const url = URL.canParse(String(input)) ? new URL(String(input)) : undefined;
  if (!url || !/^(https?|data):$/.test(url.protocol))
    throw badArgument(field, "must be an http, https or data URL. Use path for local files");
  if (url.username !== "" || url.password !== "") throw badArgument(field, "must not have a user name or password");
  const where = url.protocol === "data:" ? "the data URL" : url.host;
  let response: Response;
  try {
    // fetch follows redirects only to http and https. No header of the call to Posthorn is sent.
    const headers: Record<string, string> = userAgent === undefined ? {} : { "user-agent": userAgent };
    const request = { headers, credentials: "omit", signal: reading.signal } as const;
    response = await reading.race(fetch(url, request));
  } catch (error) {
    if (error instanceof PosthornError) throw problemOf(error, field);
    throw failed("unavailable", field, `cannot be downloaded from ${where}: ${reasonOf(error)}`, error);
  }
  if (!response.ok) {
    response.body?.cancel().catch(() => {});
    const code = response.status >= 500 || response.status === 429 ? "unavailable" : "invalid_argument";
    throw failed(code, field, `cannot be downloaded: ${where} answered HTTP ${response.status}`, undefined);
  }
  const bytes = await readBody(response, field, reading);
  const contentType = /^[\w.+-]+\/[\w.+-]+(?:\s*;\s*charset=[\w-]+)?/i.exec(
    response.headers.get("content-type") ?? "",
  )?.[0];
  const filename = url.protocol === "data:" ? undefined : lastSegment(url.href);
  return { bytes, filename, contentType: isGeneric(contentType) ? undefined : contentType };
}

async function readBody(response: Response, field: string, reading: Reading): Promise<Uint8Array> {
  if (Number(response.headers.get("content-length")) > reading.maxBytes) {
    response.body?.cancel().catch(() => {});
    throw tooLarge(reading.maxBytes, field);
  }
  if (!response.body) return new Uint8Array();
  try {
    return await collect(sourceOf(response.body, field), field, reading);
  } catch (error) {
    if (error instanceof PosthornError && error.code === "invalid_argument" && error.cause !== undefined)
      throw failed("unavailable", field, `was downloaded only in part: ${reasonOf(error.cause)}`, error.cause);
    throw error;
  }
}

/** Types that servers report for files whose type they do not know. */
function isGeneric(contentType: string | undefined): boolean {
  return contentType === undefined || /^(application|binary)\/octet-stream/i.test(contentType);
}

function lastSegment(path: string): string | undefined {
  const isUrl = /^(https?|file):\/\//i.test(path);
  const segment = (isUrl ? new URL(path).pathname : path).split(/[/\\]/).at(-1) || undefined;
  if (!isUrl || segment === undefined) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function problemOf(error: unknown, field: string): PosthornError {
  if (!(error instanceof PosthornError))
    return failed("invalid_argument", field, `cannot be read: ${reasonOf(error)}`, error);
  if (error.code !== "deadline_exceeded") return error;
  return failed("deadline_exceeded", field, "was not read within the time limit of the call (timeoutMs)", error);
}

function failed(code: ErrorCode, field: string, description: string, cause: unknown) {
  return new PosthornError(code, `${field}: ${description}`, { cause, violations: [{ field, description }] });
}
