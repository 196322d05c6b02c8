// Writes messages, enums and their fields as Markdown, with links between the reference pages. Used by the pages' generators.
import type { DescEnum, DescField, DescFile, DescMessage, DescMethod } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import type { Contract } from "./descriptors.ts";
import { prose } from "./text.ts";

/** The reference page of a file's types. */
export function pageOf(file: DescFile): string {
  const base = file.name.split("/").at(-1)!;
  const special: Record<string, string> = { event: "events", error_details: "errors", options: "key" };
  return `${special[base] ?? base}.md`;
}

/** One section for each message and enum. */
export function typeSections(contract: Contract, types: (DescMessage | DescEnum)[]): string[] {
  return types.flatMap((type) => [
    `### ${type.typeName.slice(type.file.proto.package.length + 1)}`,
    prose(contract.comment(type.typeName)),
    type.kind === "enum" ? valueTable(contract, type) : fieldTable(contract, type, pageOf(type.file)),
  ]);
}

export function fieldTable(contract: Contract, message: DescMessage, page: string): string {
  if (message.fields.length === 0) return "No fields.";
  return table(
    ["Field", "Type", "Meaning"],
    message.fields.map((field) => [
      `\`${field.jsonName}\``,
      fieldType(field, page),
      contract.comment(`${message.typeName}.${field.name}`),
    ]),
  );
}

function valueTable(contract: Contract, desc: DescEnum): string {
  return table(
    ["Value", "Meaning"],
    desc.values.map((value) => [`\`${value.name}\``, contract.comment(`${desc.typeName}.${value.name}`)]),
  );
}

function fieldType(field: DescField, page: string): string {
  if (field.fieldKind === "map") return `map of string to ${scalarName(field.scalar!)}`;
  const one = field.message ?? field.enum;
  const name = one ? typeLink(one, page) : scalarName(field.scalar!);
  return field.fieldKind === "list" ? `${name}[]` : name;
}

export function typeLink(type: DescMessage | DescEnum, fromPage: string): string {
  if (type.typeName === "google.protobuf.Timestamp") return "timestamp";
  if (type.typeName === "google.protobuf.Duration") return "duration";
  const name = type.typeName.slice(type.file.proto.package.length + 1);
  const page = pageOf(type.file);
  // A request or response has no section: its fields are listed with the method.
  const methods = type.file.services.flatMap((service) => service.methods);
  const method = methods.find(({ input, output }) => input === type || output === type);
  return `[${name}](${page === fromPage ? "" : page}#${slug(method?.name ?? name)})`;
}

export function methodLink(method: DescMethod, fromPage: string): string {
  const page = pageOf(method.parent.file);
  return `[${method.parent.name}.${method.name}](${page === fromPage ? "" : page}#${slug(method.name)})`;
}

/** The anchor that GitHub creates for a heading. */
export function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");
}

function scalarName(scalar: ScalarType): string {
  const names: Partial<Record<ScalarType, string>> = {
    [ScalarType.STRING]: "string",
    [ScalarType.BOOL]: "boolean",
    [ScalarType.INT32]: "integer",
    [ScalarType.DOUBLE]: "number",
    [ScalarType.BYTES]: "string (base64)",
  };
  const name = names[scalar];
  if (name === undefined) throw new Error(`the reference has no name for the type ${ScalarType[scalar]}`);
  return name;
}

export function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.map(cell).join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

function cell(text: string): string {
  return text.replaceAll("\n", " ").replaceAll("|", "\\|");
}
