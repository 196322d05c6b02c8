// Writes sdk/src/gen, the contract as plain JSON types for users of the published SDK.
import { type DescEnum, type DescField, type DescFile, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { type Contract, readContract } from "./descriptors.ts";
import { eventTypes } from "./reference-events.ts";

export const name = "client types";
export const folder = "sdk/src/gen";

/** The same field may be optional in a request, which a caller writes, and always present in a response, which the server writes. */
export type Side = "request" | "response";

export async function generate(): Promise<Map<string, string>> {
  const contract = await readContract();
  const sides = sidesOf(contract);
  const files = new Map<string, string>();
  for (const file of contract.files) {
    const types = typesOf(file).filter((type) => sides.has(type));
    if (types.length === 0) continue;
    files.set(`${folder}/${moduleOf(file)}.ts`, moduleText(contract, { file, types, sides }));
  }
  return files.set(`${folder}/methods.ts`, methodsText(contract));
}

function moduleOf(file: DescFile): string {
  return file.name.split("/").at(-1)!.replaceAll("_", "-");
}

function typesOf(file: DescFile): (DescMessage | DescEnum)[] {
  const nested = (message: DescMessage): (DescMessage | DescEnum)[] => [
    message,
    ...message.nestedMessages.flatMap(nested),
    ...message.nestedEnums,
  ];
  return [...file.messages.flatMap(nested), ...file.enums];
}

/** Every type that a method uses, with the side that uses it. */
export function sidesOf(contract: Contract): Map<DescMessage | DescEnum, Side> {
  const sides = new Map<DescMessage | DescEnum, Side>();
  const visit = (type: DescMessage | DescEnum, side: Side) => {
    if (type.typeName.startsWith("google.protobuf.")) return;
    const seen = sides.get(type);
    if (type.kind === "message" && seen !== undefined && seen !== side)
      throw new Error(`${type.typeName} is part of a request and of a response: its fields need two shapes`);
    if (seen !== undefined) return;
    sides.set(type, side);
    if (type.kind === "enum") return;
    for (const field of type.fields) {
      const inner = field.message ?? field.enum;
      if (inner) visit(inner, side);
    }
  };
  for (const method of contract.services.flatMap((service) => service.methods)) {
    visit(method.input, "request");
    visit(method.output, "response");
  }
  return sides;
}

function moduleText(
  contract: Contract,
  { file, types, sides }: { file: DescFile; types: (DescMessage | DescEnum)[]; sides: Map<unknown, Side> },
): string {
  const parts = types.map((type) => {
    const comment = doc(contract.comment(type.typeName));
    if (type.kind === "enum") return `${comment}export type ${type.name} =${type.values.map(literal).join("")};\n`;
    if (type.typeName === "v1.Event") return eventText(contract, type);
    const fields = type.fields.map((field) => fieldText(contract, field, sides.get(type)!));
    return `${comment}export interface ${type.name} {\n${fields.join("")}}\n`;
  });
  return [header(`the types of ${file.name}.proto`), ...importLines(file, types), parts.join("\n")].join("\n");
}

function literal(value: { name: string }): string {
  return `\n  | "${value.name}"`;
}

function fieldText(contract: Contract, field: DescField, side: Side): string {
  const comment = contract.comment(`${field.parent.typeName}.${field.name}`);
  const mark = isOptional(field, comment, side) ? "?" : "";
  return `${doc(comment, "  ")}  ${field.jsonName}${mark}: ${fieldType(field, side)};\n`;
}

/** The contract's comments state which fields a request needs and which a response may lack. JSON responses contain all others. */
export function isOptional(field: DescField, comment: string, side: Side): boolean {
  if (side === "request") return !/\bRequired[.,]/.test(comment);
  if (field.proto.proto3Optional) return true;
  return field.fieldKind === "message" && /\bAbsent |\bPresent only /.test(comment);
}

function fieldType(field: DescField, side: Side): string {
  if (field.fieldKind === "map") return "Record<string, string>";
  const type = field.message ?? field.enum;
  const one = type ? typeName(type, side) : scalarName(field.scalar!);
  return field.fieldKind === "list" ? `${one}[]` : one;
}

function typeName(type: DescMessage | DescEnum, side: Side): string {
  // JSON.stringify writes a Date in the timestamp format of protobuf JSON.
  if (type.typeName === "google.protobuf.Timestamp") return side === "request" ? "Date | string" : "string";
  return type.name;
}

function scalarName(scalar: ScalarType): string {
  if (scalar === ScalarType.STRING || scalar === ScalarType.BYTES) return "string";
  if (scalar === ScalarType.BOOL) return "boolean";
  if (scalar === ScalarType.INT32 || scalar === ScalarType.DOUBLE) return "number";
  throw new Error(`no JSON type is set for ${ScalarType[scalar]}`);
}

/** The event is a union over `type`, so that a check of `type` tells the compiler which payload is present. */
function eventText(contract: Contract, event: DescMessage): string {
  const types = eventTypes(contract);
  const envelope = event.fields.filter((field) => field.oneof === undefined && field.name !== "type");
  return [
    `/** The fields of every event. */\nexport interface EventEnvelope {\n${envelope.map((field) => fieldText(contract, field, "response")).join("")}}\n`,
    `${doc(contract.comment(event.typeName))}export type Event =${types.map(({ type, field }) => `\n  | (EventEnvelope & { type: "${type}"; ${field.jsonName}: ${field.message!.name} })`).join("")};\n`,
    `/** The field of the payload, by event type. */\nexport const payloadFields = {\n${types.map(({ type, field }) => `  "${type}": "${field.jsonName}",\n`).join("")}} as const;\n`,
  ].join("\n");
}

function importLines(file: DescFile, types: (DescMessage | DescEnum)[]): string[] {
  const wanted = new Map<string, Set<string>>();
  for (const type of types) {
    for (const field of type.kind === "message" ? type.fields : []) {
      const inner = field.message ?? field.enum;
      if (!inner || inner.file === file || inner.typeName.startsWith("google.protobuf.")) continue;
      const names = wanted.get(moduleOf(inner.file)) ?? new Set();
      wanted.set(moduleOf(inner.file), names.add(inner.name));
    }
  }
  const lines = [...wanted].map(
    ([from, names]) => `import type { ${[...names].sort().join(", ")} } from "./${from}.ts";`,
  );
  return lines.length > 0 ? [...lines.sort(), ""] : [];
}

function methodsText(contract: Contract): string {
  const all = contract.services.flatMap((service) => service.methods);
  const names = new Map<string, string[]>();
  for (const { input, output } of all) {
    for (const type of [input, output])
      names.set(moduleOf(type.file), [...(names.get(moduleOf(type.file)) ?? []), type.name]);
  }
  const imports = [...names].map(
    ([from, types]) => `import type {\n${types.map((one) => `  ${one},\n`).join("")}} from "./${from}.ts";`,
  );
  const table = (kind: string) =>
    all
      .filter((method) => method.methodKind === kind)
      .map(
        (method) =>
          `${doc(contract.comment(`${method.parent.typeName}.${method.name}`).split("\n\n")[0]!, "  ")}  "${method.parent.name}/${method.name}": { request: ${method.input.name}; response: ${method.output.name} };\n`,
      )
      .join("");
  return [
    header("every method with the types of its request and its response"),
    ...imports,
    "",
    `/** Methods with one response. */\nexport interface UnaryMethods {\n${table("unary")}}\n`,
    `/** Methods with a stream of responses. */\nexport interface StreamMethods {\n${table("server_streaming")}}\n`,
  ].join("\n");
}

function header(what: string): string {
  return `// Generated from the contract in proto/ by "npm run generate": ${what}. Do not edit.`;
}

function doc(comment: string, indent = ""): string {
  const lines = comment.replaceAll("*/", "*\u200b/").split("\n");
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} *${line === "" ? "" : ` ${line}`}\n`).join("")}${indent} */\n`;
}
