/** The contract as tests walk it: its methods, the fields of their requests with their paths, and values that do not fit them. */
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

/** Every method of every generated file, so that a new service cannot be forgotten. */
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

/** A field of a request: where it is, and how a request looks that holds a value there and nothing else. */
export type Place = { path: string; field: DescField; with(value: unknown): Record<string, unknown> };

/** All fields, those of messages within the request included; the path is as in an error, with `[0]` for list entries. */
export function placesOf(message: DescMessage, depth = 0): Place[] {
  return message.fields.flatMap((field): Place[] => {
    const here: Place = { path: field.jsonName, field, with: (value) => ({ [field.jsonName]: value }) };
    const inner = field.message;
    if (!inner || inner.typeName.startsWith("google.protobuf.") || depth >= 3) return [here];
    const list = field.fieldKind === "list";
    const nested = placesOf(inner, depth + 1).map((place) => ({
      path: `${field.jsonName}${list ? "[0]" : ""}.${place.path}`,
      field: place.field,
      with: (value: unknown) => ({ [field.jsonName]: list ? [place.with(value)] : place.with(value) }),
    }));
    return [here, ...nested];
  });
}

export type Misfit = { path: string; request: Record<string, unknown> };

/** Requests that hold one value of a wrong type, with the path that the error must name. */
export function misfits(place: Place): Misfit[] {
  const { field } = place;
  if (field.fieldKind === "list") {
    const entries = wrongFor(field.listKind, field).map((wrong) => ({
      path: `${place.path}[0]`,
      request: place.with([wrong]),
    }));
    return [...wrongWhole(["x", 5, { a: "b" }], place), ...entries];
  }
  if (field.fieldKind === "map") {
    const entries = wrongFor(field.mapKind, field).map((wrong) => ({
      path: `${place.path}.key`,
      request: place.with({ key: wrong }),
    }));
    return [...wrongWhole(["x", 5, []], place), ...entries];
  }
  return wrongWhole(wrongFor(field.fieldKind, field), place);
}

function wrongWhole(values: unknown[], place: Place): Misfit[] {
  return values.map((value) => ({ path: place.path, request: place.with(value) }));
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
]);

/** A right value for a field, for tests that ask what a method does with any content. */
export function withText(place: Place, text: string): Record<string, unknown> | undefined {
  const { field } = place;
  if (field.scalar !== ScalarType.STRING) return undefined;
  if (field.fieldKind === "list") return place.with([text]);
  return place.with(field.fieldKind === "map" ? { key: text } : text);
}

/** Fields that look as if they held an id, by path with `[]` for lists. */
export function idPaths(message: DescMessage): string[] {
  return placesOf(message)
    .filter(({ field }) => field.scalar === ScalarType.STRING && /(^|_)ids?$/.test(field.name))
    .map(({ path }) => path.replaceAll("[0]", "[]"));
}
