/** Finds every value in a JSON request that does not match its message, and reports its path in the request. Called by read-json.ts. */
import { type DescField, type DescMessage, fromJson, type JsonValue } from "@bufbuild/protobuf";
import type { Violation } from "../ops/problem.ts";

/** A hostile request must not cause a large response. */
export const maxProblems = 50;
const maxNameLength = 64;

export function jsonProblems(message: DescMessage, json: JsonValue): Violation[] {
  const problems: Violation[] = [];
  checkMessage(message, json, "", problems);
  return problems.slice(0, maxProblems);
}

function checkMessage(message: DescMessage, json: JsonValue, path: string, problems: Violation[]): void {
  if (!isObject(json)) {
    problems.push({ field: path || "(request)", description: `must be a JSON object, is ${nameOf(json)}` });
    return;
  }
  for (const [key, value] of Object.entries(json)) {
    const field = message.fields.find((f) => f.jsonName === key || f.name === key);
    // Unknown fields are ignored, and null means unset (the protobuf convention).
    if (!field || value === null || problems.length >= maxProblems) continue;
    // Most fields are correct, and decoding a whole list takes a fraction of the time of checking each item.
    if (fits(message, { [key]: value })) continue;
    checkField(message, field, { key, value, path: path === "" ? key : `${path}.${key}` }, problems);
  }
}

/** A value, the key it has in its message, and its path in the request. */
type Place = { key: string; value: JsonValue; path: string };

function checkField(message: DescMessage, field: DescField, place: Place, problems: Violation[]): void {
  const { key, value, path } = place;
  if (field.fieldKind === "list") {
    if (!Array.isArray(value)) {
      problems.push({ field: path, description: `must be a list, is ${nameOf(value)}` });
      return;
    }
    for (const [i, item] of value.entries()) {
      if (problems.length >= maxProblems) return;
      const at = `${path}[${i}]`;
      if (field.listKind === "message" && item !== null && isOurs(field.message))
        checkMessage(field.message, item, at, problems);
      else checkValue(message, field, { key, value: [item], path: at }, problems);
    }
  } else if (field.fieldKind === "map") {
    if (!isObject(value)) {
      problems.push({ field: path, description: `must be a JSON object, is ${nameOf(value)}` });
      return;
    }
    for (const [name, item] of Object.entries(value)) {
      if (problems.length >= maxProblems) return;
      checkValue(
        message,
        field,
        { key, value: { [name]: item }, path: `${path}.${name.slice(0, maxNameLength)}` },
        problems,
      );
    }
  } else if (field.fieldKind === "message" && isOurs(field.message)) {
    checkMessage(field.message, value, path, problems);
  } else {
    checkValue(message, field, place, problems);
  }
}

/** Times with a day that does not exist: the library would read 30 February as 2 March. */
export function calendarProblems(message: DescMessage, json: JsonValue): Violation[] {
  const problems: Violation[] = [];
  checkTimes(message, json, "", problems);
  return problems;
}

function checkTimes(message: DescMessage, json: JsonValue, path: string, problems: Violation[]): void {
  if (!isObject(json)) return;
  for (const field of timeFields(message)) {
    const key = field.jsonName in json ? field.jsonName : field.name;
    const value = json[key];
    const at = path === "" ? key : `${path}.${key}`;
    if (isTimestamp(field)) {
      const day = typeof value === "string" ? /^\d{4}-\d\d-\d\d/.exec(value)?.[0] : undefined;
      if (day !== undefined && !isDay(day))
        problems.push({ field: at, description: `contains a day that does not exist: ${day}` });
    } else if (field.fieldKind === "list" && Array.isArray(value)) {
      for (const [i, item] of value.entries()) {
        if (problems.length >= maxProblems) return;
        checkTimes(field.message!, item, `${at}[${i}]`, problems);
      }
    } else if (value !== undefined) checkTimes(field.message!, value, at, problems);
  }
}

function isDay(day: string): boolean {
  const date = new Date(day);
  // toISOString throws on an invalid date such as 2026-99-99.
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

const timeFieldsOf = new WeakMap<DescMessage, DescField[]>();

/** The fields that are times or messages that contain times. No request of the contract contains itself. */
function timeFields(message: DescMessage): DescField[] {
  let fields = timeFieldsOf.get(message);
  if (!fields) {
    fields = message.fields.filter(
      (f) => isTimestamp(f) || (f.fieldKind !== "map" && isOurs(f.message) && timeFields(f.message).length > 0),
    );
    timeFieldsOf.set(message, fields);
  }
  return fields;
}

function isTimestamp(field: DescField): boolean {
  return field.fieldKind === "message" && field.message.typeName === "google.protobuf.Timestamp";
}

/** Decodes one value on its own: the library accepts it here exactly if it accepts it in the request. */
function checkValue(message: DescMessage, field: DescField, { key, value, path }: Place, problems: Violation[]): void {
  const error = decodingError(message, { [key]: value });
  if (error) problems.push({ field: path, description: describe(field, error) });
}

function fits(message: DescMessage, json: JsonValue): boolean {
  return decodingError(message, json) === undefined;
}

function decodingError(message: DescMessage, json: JsonValue): Error | undefined {
  try {
    fromJson(message, json, { ignoreUnknownFields: false });
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

function describe(field: DescField, error: Error): string {
  const kind =
    field.fieldKind === "list" ? field.listKind : field.fieldKind === "map" ? field.mapKind : field.fieldKind;
  if (kind === "enum" && field.enum) {
    const names = field.enum.values.filter((value) => value.number !== 0).map((value) => value.name);
    return `must be one of ${names.join(", ")}`;
  }
  if (field.message?.typeName === "google.protobuf.Timestamp")
    return "must be a time as in 2026-01-31T12:00:00Z (RFC 3339)";
  const reason = error.message
    .replace(/^cannot decode (?:field|message) [\w.]+ from JSON(?:: )?/, "")
    .replace(/^list item #1: |^map entry .*?: /, "");
  return (reason || "does not match its type").slice(0, 200);
}

/** Messages of this contract are JSON objects with fields; those of google.protobuf have special JSON forms. */
function isOurs(message: DescMessage | undefined): message is DescMessage {
  return message !== undefined && !message.typeName.startsWith("google.protobuf.");
}

function isObject(json: JsonValue): json is { [key: string]: JsonValue } {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}

function nameOf(json: JsonValue): string {
  if (Array.isArray(json)) return "a list";
  if (json === null) return "null";
  return typeof json === "object" ? "an object" : `a ${typeof json}`;
}
