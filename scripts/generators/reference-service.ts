// Writes the reference page of one service: each method with its path, fields, errors and an example, then the types.
import type { DescMethod, DescService, JsonValue } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import type { Contract, Policy } from "./descriptors.ts";
import { fieldTable, pageOf, slug, table, typeSections } from "./reference-types.ts";
import { prose } from "./text.ts";

export interface MethodError {
  code: string;
  when: string;
}

export function servicePage(contract: Contract, service: DescService, examples: Map<DescMethod, JsonValue>): string {
  const page = pageOf(service.file);
  const wire = new Set(service.methods.flatMap((method) => [method.input, method.output]));
  const types = contract.types.filter((type) => pageOf(type.file) === page && type.typeName !== "v1.MethodPolicy");
  const shared = types.filter((type) => type.kind === "enum" || !wire.has(type));
  return [
    `# ${service.name}`,
    prose(contract.comment(service.typeName)),
    table(
      ["Method", "Permission", "What it does"],
      service.methods.map((method) => [
        `[${method.name}](#${slug(method.name)})`,
        permissionText(contract.policy(method)),
        firstSentence(methodText(contract, method).text),
      ]),
    ),
    "The headers of every call and the format of values are described in the [overview](README.md).",
    ...service.methods.flatMap((method) => methodSections(contract, method, examples.get(method)!)),
    ...(shared.length > 0 ? ["## Types", ...typeSections(contract, shared)] : []),
  ].join("\n\n");
}

function methodSections(contract: Contract, method: DescMethod, example: JsonValue): string[] {
  const page = pageOf(method.parent.file);
  const policy = contract.policy(method);
  const { text, errors } = methodText(contract, method);
  const planned = "> Planned: this version answers `unimplemented`.";
  return [
    `## ${method.name}`,
    prose(text),
    ...(policy.planned ? [planned] : []),
    `\`POST /${method.parent.typeName}/${method.name}\` · permission: ${permissionText(policy)}${scopeText(policy)}`,
    "**Request**",
    fieldTable(contract, method.input, page),
    method.methodKind === "server_streaming" ? "**Response**, a stream of messages" : "**Response**",
    fieldTable(contract, method.output, page),
    "**Errors**, in addition to [those of every method](errors.md#every-method)",
    table(
      ["Code", "When"],
      errors.map(({ code, when }) => [`[\`${code}\`](errors.md#${code})`, when]),
    ),
    "**Example**",
    ["```sh", curl(method, example), "```"].join("\n"),
  ];
}

/** A method's comment, split into its text and the list after `Errors:`. */
export function methodText(contract: Contract, method: DescMethod): { text: string; errors: MethodError[] } {
  const fullName = `${method.parent.typeName}.${method.name}`;
  const [text = "", list] = contract.comment(fullName).split(/\n\nErrors:\n/);
  if (list === undefined) throw new Error(`the comment of ${fullName} does not end in a list of errors`);
  const errors = list.split("\n").map((line) => {
    const [, code, when] = /^- (\w+): (.+)$/.exec(line) ?? [];
    if (!code || !when || !codes.has(code)) throw new Error(`${fullName}: not an error line: ${line}`);
    return { code, when: when.charAt(0).toUpperCase() + when.slice(1) };
  });
  return { text, errors };
}

const codes = new Set(
  Object.values(Code)
    .filter((code) => typeof code === "number")
    .map(codeToString),
);

export function permissionText(policy: Policy): string {
  const words = policy.permissions.map((permission) => permission.replace("KEY_PERMISSION_", "").toLowerCase());
  if (policy.operatorOnly) return "operators with a second factor only";
  const forPeople = [...(policy.ownerOnly ? ["owner"] : []), ...(policy.fresh ? ["recent proof of identity"] : [])];
  if (words.length === 0) return `signed-in people only${policy.fresh ? ", with a recent proof of identity" : ""}`;
  return words.join(", ") + (forPeople.length > 0 ? ` (people: ${forPeople.join(", ")})` : "");
}

/** The scopes of keys without a permission, after the permissions. Empty where no key may call the method. */
export function scopeText(policy: Policy): string {
  const words = policy.scopes.map((scope) => scope.replace("KEY_SCOPE_", "").toLowerCase());
  return words.length === 0 ? "" : ` · scope: ${words.join(" or ")}`;
}

function firstSentence(text: string): string {
  return /^.*?[.:](?=\s|$)/s.exec(text)![0].replace(/:$/, ".");
}

export function curl(method: DescMethod, example: JsonValue): string {
  const body = JSON.stringify(example, null, 2).replaceAll("'", "'\\''");
  const flags = method.methodKind === "server_streaming" ? "-sSN" : "-sS";
  return [
    `curl ${flags} http://127.0.0.1:8825/${method.parent.typeName}/${method.name} \\`,
    `  -H "Authorization: Bearer $POSTHORN_API_KEY" \\`,
    `  -H "Connect-Protocol-Version: 1" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '${body}'`,
  ].join("\n");
}
