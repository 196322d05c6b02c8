// Turns the messages and enums of the contract into the schemas of docs/openapi.json. Called by openapi.ts.
import { type DescEnum, type DescField, type DescMessage, type JsonObject, ScalarType } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import type { Contract } from "./descriptors.ts";
import { eventTypes } from "./reference-events.ts";
import { isOptional, type Side, sidesOf } from "./sdk-gen.ts";
import { paragraphs } from "./text.ts";

/** The schemas of every type that a method uses. */
export function messageSchemas(contract: Contract): JsonObject {
  const sides = [...sidesOf(contract)].sort(([a], [b]) => (a.name < b.name ? -1 : 1));
  return Object.fromEntries(
    sides.map(([type, side]) => [
      type.name,
      type.kind === "enum" ? enumSchema(contract, type) : messageSchema(contract, type, side),
    ]),
  );
}

export function refTo(type: DescMessage | DescEnum): string {
  return `#/components/schemas/${type.name}`;
}

function enumSchema(contract: Contract, type: DescEnum): JsonObject {
  const values = type.values.map(({ name }) => `- \`${name}\`: ${contract.comment(`${type.typeName}.${name}`)}`);
  return {
    type: "string",
    description: `${paragraphs(contract.comment(type.typeName))}\n\n${values.join("\n").replaceAll(/\n(?!- )/g, " ")}`,
    enum: type.values.map(({ name }) => name),
  };
}

function messageSchema(contract: Contract, message: DescMessage, side: Side): JsonObject {
  const comment = (field: DescField) => contract.comment(`${message.typeName}.${field.name}`);
  // Only one field of a oneof is present.
  const required = message.fields.filter((field) => !field.oneof && !isOptional(field, comment(field), side));
  const properties = message.fields.map((field) => {
    const schema = fieldSchema(field);
    if (message.typeName === "v1.Event" && field.name === "type")
      schema.enum = eventTypes(contract).map(({ type }) => type);
    return [field.jsonName, { ...schema, description: paragraphs(comment(field)) }] as const;
  });
  return {
    type: "object",
    description: paragraphs(contract.comment(message.typeName)),
    properties: Object.fromEntries(properties),
    ...(required.length > 0 ? { required: required.map(({ jsonName }) => jsonName) } : {}),
  };
}

function fieldSchema(field: DescField): JsonObject {
  if (field.fieldKind === "map") return { type: "object", additionalProperties: scalarSchema(field.scalar!) };
  const type = field.message ?? field.enum;
  const one = type ? typeSchema(type) : scalarSchema(field.scalar!);
  return field.fieldKind === "list" ? { type: "array", items: one } : one;
}

function typeSchema(type: DescMessage | DescEnum): JsonObject {
  if (type.typeName === "google.protobuf.Timestamp") return { type: "string", format: "date-time" };
  if (type.typeName === "google.protobuf.Duration") return { type: "string", pattern: "^-?\\d+(\\.\\d+)?s$" };
  return { $ref: refTo(type) };
}

function scalarSchema(scalar: ScalarType): JsonObject {
  const schemas: Partial<Record<ScalarType, JsonObject>> = {
    [ScalarType.STRING]: { type: "string" },
    [ScalarType.BOOL]: { type: "boolean" },
    [ScalarType.INT32]: { type: "integer", format: "int32" },
    [ScalarType.DOUBLE]: { type: "number", format: "double" },
    [ScalarType.BYTES]: { type: "string", contentEncoding: "base64" },
  };
  const schema = schemas[scalar];
  if (schema === undefined) throw new Error(`OpenAPI has no schema for the type ${ScalarType[scalar]}`);
  return { ...schema };
}

const codes = Object.values(Code).filter((code) => typeof code === "number");

export const errorSchemas: JsonObject = {
  Error: {
    type: "object",
    description: "Why a call failed. The HTTP status follows from the code.",
    properties: {
      code: { type: "string", description: "The error code, for programs.", enum: codes.map(codeToString) },
      message: { type: "string", description: "What went wrong and what to do next, for people." },
      details: {
        type: "array",
        description: "Structured data, present for some codes.",
        items: { $ref: "#/components/schemas/ErrorDetail" },
      },
    },
    required: ["code"],
    additionalProperties: true,
  },
  ErrorDetail: {
    type: "object",
    description: "A protobuf message, such as google.rpc.BadRequest with one violation per invalid field.",
    properties: {
      type: { type: "string", description: "The name of the message." },
      value: { type: "string", contentEncoding: "base64", description: "The message, serialized." },
      debug: { description: "The same data as JSON, for debugging only: do not depend on its form." },
    },
    required: ["type", "value"],
    additionalProperties: true,
  },
};
