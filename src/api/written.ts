/** Remembers a JSON request with unknown fields next to the message that was read from it, for errors that name such a field. Requests with
 * known fields alone, nearly all, are not remembered. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { DescMessage, JsonValue } from "@bufbuild/protobuf";

const written = new WeakMap<object, JsonValue>();

export function keepWritten(message: object, json: JsonValue): void {
  written.set(message, json);
}

/** The names in the request, or in the object at `path` in it, that the message does not have. */
export function unknownFields(
  message: object,
  schema: DescMessage,
  path: readonly (string | number)[] = [],
): readonly string[] {
  let json: unknown = written.get(message);
  for (const step of path) json = (json as Record<string | number, unknown> | undefined)?.[step];
  if (typeof json !== "object" || json === null) return [];
  const names = new Set(schema.fields.flatMap(({ name, jsonName }) => [name, jsonName]));
  return Object.keys(json).filter((name) => !names.has(name));
}

/** Connect reads a request's text and calls its handler in separate steps that share nothing but the asynchronous context. */
const current = new AsyncLocalStorage<{ json?: JsonValue }>();

export function withWritten<T>(work: () => T): T {
  return current.run({}, work);
}

/** Called by the reader of the text. */
export function noteWritten(json: JsonValue): void {
  const note = current.getStore();
  if (note) note.json = json;
}

/** Called before the handler. */
export function keepNoted(message: object): void {
  const json = current.getStore()?.json;
  if (json !== undefined) written.set(message, json);
}
