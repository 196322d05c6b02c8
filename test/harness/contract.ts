/** Describes the API contract for tests: its methods, the fields of their requests, and values of a wrong type for each field. */
import { readdirSync } from "node:fs";
import {
  type DescField,
  type DescFile,
  type DescMessage,
  type DescMethod,
  getOption,
  ScalarType,
} from "@bufbuild/protobuf";
import { policy } from "../../src/gen/v1/options_pb.ts";

const folder = new URL("../../src/gen/v1/", import.meta.url);

/** Every method of every generated file, so that tests cover a new service automatically. */
export async function allMethods(): Promise<DescMethod[]> {
  const names = readdirSync(folder).filter((name) => name.endsWith("_pb.ts"));
  const modules = await Promise.all(names.map((name) => import(new URL(name, folder).href)));
  const files = modules.flatMap((module) => Object.entries(module).filter(([name]) => name.startsWith("file_")));
  return files.flatMap(([, file]) => (file as DescFile).services.flatMap((service) => service.methods));
}

export function nameOf(method: DescMethod): string {
  return `${method.parent.name}/${method.name}`;
}

export function policyOf(method: DescMethod) {
  return getOption(method, policy);
}

/** A field of a request, with its path and a function that builds a request with a value in only this field. */
export type RequestField = { path: string; field: DescField; with(value: unknown): Record<string, unknown> };

/** All fields, including those of nested messages. The path has the form that errors use, with `[0]` for list entries. */
export function requestFields(message: DescMessage, depth = 0): RequestField[] {
  return message.fields.flatMap((field): RequestField[] => {
    const here: RequestField = { path: field.jsonName, field, with: (value) => ({ [field.jsonName]: value }) };
    const inner = field.message;
    if (!inner || inner.typeName.startsWith("google.protobuf.") || depth >= 3) return [here];
    const list = field.fieldKind === "list";
    const nested = requestFields(inner, depth + 1).map((requestField) => ({
      path: `${field.jsonName}${list ? "[0]" : ""}.${requestField.path}`,
      field: requestField.field,
      with: (value: unknown) => ({ [field.jsonName]: list ? [requestField.with(value)] : requestField.with(value) }),
    }));
    return [here, ...nested];
  });
}

export type WrongTypeRequest = { path: string; request: Record<string, unknown> };

/** Requests with one value of a wrong type, and the path that the error must name. */
export function wrongTypeRequests(requestField: RequestField): WrongTypeRequest[] {
  const { field } = requestField;
  if (field.fieldKind === "list") {
    const entries = wrongFor(field.listKind, field).map((wrong) => ({
      path: `${requestField.path}[0]`,
      request: requestField.with([wrong]),
    }));
    return [...wrongWhole(["x", 5, { a: "b" }], requestField), ...entries];
  }
  if (field.fieldKind === "map") {
    const entries = wrongFor(field.mapKind, field).map((wrong) => ({
      path: `${requestField.path}.key`,
      request: requestField.with({ key: wrong }),
    }));
    return [...wrongWhole(["x", 5, []], requestField), ...entries];
  }
  return wrongWhole(wrongFor(field.fieldKind, field), requestField);
}

function wrongWhole(values: unknown[], requestField: RequestField): WrongTypeRequest[] {
  return values.map((value) => ({ path: requestField.path, request: requestField.with(value) }));
}

function wrongFor(kind: "scalar" | "enum" | "message", field: DescField): unknown[] {
  if (kind === "enum") return ["NOPE", 1.5, true, {}];
  if (kind === "message")
    return field.message?.typeName === "google.protobuf.Timestamp"
      ? ["yesterday", "2026-02-30T00:00:00Z", 5]
      : [5, "x", []];
  const scalar = wrongScalars.get(field.scalar as ScalarType);
  if (!scalar) throw new Error(`${field}: add wrong values for its type to wrongScalars in ${import.meta.url}`);
  return scalar;
}

const wrongScalars = new Map<ScalarType, unknown[]>([
  [ScalarType.STRING, [5, true, {}, ["x"]]],
  [ScalarType.BYTES, [5, "*", {}]],
  [ScalarType.BOOL, ["yes", 1, {}]],
  [ScalarType.INT32, ["abc", 1.5, true, 2 ** 31, {}]],
  [ScalarType.INT64, ["abc", 1.5, true, {}]],
  [ScalarType.DOUBLE, ["abc", true, {}, ["1"]]],
]);

/** A request with this text in the field, or undefined if the field does not hold text. */
export function withText(requestField: RequestField, text: string): Record<string, unknown> | undefined {
  const { field } = requestField;
  if (field.scalar !== ScalarType.STRING) return undefined;
  if (field.fieldKind === "list") return requestField.with([text]);
  return requestField.with(field.fieldKind === "map" ? { key: text } : text);
}

/** Paths of the fields whose names end in `id` or `ids`, with `[]` for lists. */
export function idPaths(message: DescMessage): string[] {
  return requestFields(message)
    .filter(({ field }) => field.scalar === ScalarType.STRING && /(^|_)ids?$/.test(field.name))
    .map(({ path }) => path.replaceAll("[0]", "[]"));
}
