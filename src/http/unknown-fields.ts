/** Remembers the JSON of requests with unknown fields, so that a handler's error can name such a field. Requests with known fields only,
 * which is nearly all, are not remembered. Called by read-json.ts, router.ts and emails/service.ts. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { DescMessage, JsonValue } from "@bufbuild/protobuf";

const jsonOf = new WeakMap<object, JsonValue>();

export function rememberJson(message: object, json: JsonValue): void {
  jsonOf.set(message, json);
}

/** The names of fields in the request, or in the object at `path`, that the message does not have. */
export function unknownFields(
  message: object,
  schema: DescMessage,
  path: readonly (string | number)[] = [],
): readonly string[] {
  let json: unknown = jsonOf.get(message);
  for (const step of path) json = (json as Record<string | number, unknown> | undefined)?.[step];
  if (typeof json !== "object" || json === null) return [];
  const names = new Set(schema.fields.flatMap(({ name, jsonName }) => [name, jsonName]));
  return Object.keys(json).filter((name) => !names.has(name));
}

/** Connect decodes a request and calls its handler in separate steps that share only the asynchronous context. */
const current = new AsyncLocalStorage<{ json?: JsonValue }>();

export function withRequestJson<T>(work: () => T): T {
  return current.run({}, work);
}

/** Called when the text is decoded, before there is a message. */
export function noteJson(json: JsonValue): void {
  const note = current.getStore();
  if (note) note.json = json;
}

/** Called with the decoded message, right before the handler. */
export function rememberNotedJson(message: object): void {
  const json = current.getStore()?.json;
  if (json !== undefined) jsonOf.set(message, json);
}
