// Reads the contract as descriptors with comments and policies, for the generators of the reference, OpenAPI and the SDK.
import {
  createFileRegistry,
  type DescEnum,
  type DescFile,
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
  getOption,
  toJson,
} from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  type FileDescriptorProto,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { buf } from "./buf.ts";

export interface Contract {
  /** The files of proto/, by name. */
  files: DescFile[];
  services: DescService[];
  /** Every top-level message and enum of proto/, in the order of the files. */
  types: (DescMessage | DescEnum)[];
  /** The comment above the element with this full name, such as `v1.Email.id`. */
  comment(fullName: string): string;
  policy(method: DescMethod): Policy;
}

export interface Policy {
  permissions: string[];
  scopes: string[];
  ownerOnly: boolean;
  planned: boolean;
  fresh: boolean;
  operatorOnly: boolean;
}

export async function readContract(): Promise<Contract> {
  // The descriptors come from buf, not from src/gen, so that a missing or stale src/gen can be regenerated.
  const set = fromBinary(FileDescriptorSetSchema, await buf("build", "--output", "-"));
  const registry = createFileRegistry(set);
  const comments = new Map(set.file.flatMap((file) => [...commentsOf(file)]));
  const own = set.file.map((file) => file.name).filter((name) => !name.startsWith("google/protobuf/"));
  const files = own.sort().map((name) => registry.getFile(name)!);
  const extension = registry.getExtension("v1.policy")!;
  return {
    files,
    services: files.flatMap((file) => file.services),
    types: files.flatMap((file) => [...file.messages, ...file.enums]),
    comment(fullName) {
      const comment = comments.get(fullName);
      if (comment === undefined) throw new Error(`${fullName} has no comment`);
      return comment;
    },
    policy(method) {
      const options = { alwaysEmitImplicit: true, registry };
      const value = getOption(method, extension) as Parameters<typeof toJson>[1];
      return toJson(extension.message!, value, options) as unknown as Policy;
    },
  };
}

// google/protobuf/descriptor.proto, SourceCodeInfo.Location: a path is a chain of field numbers and indexes from the file down.
const fileMessage = 4;
const fileEnum = 5;
const fileService = 6;
const messageField = 2;
const messageNested = 3;
const messageEnum = 4;
const messageOneof = 8;
const enumValue = 2;
const serviceMethod = 2;

function commentsOf(file: FileDescriptorProto): Map<string, string> {
  const byPath = new Map(
    file.sourceCodeInfo?.location.map((location) => [location.path.join("."), location.leadingComments]),
  );
  const found = new Map<string, string>();
  const note = (fullName: string, path: number[]) => {
    const text = byPath.get(path.join("."));
    if (text) found.set(fullName, text.replace(/^ /gm, "").trim());
  };
  const noteEnum = (desc: EnumDescriptorProto, scope: string, path: number[]) => {
    note(`${scope}.${desc.name}`, path);
    for (const [i, value] of desc.value.entries()) note(`${scope}.${desc.name}.${value.name}`, [...path, enumValue, i]);
  };
  const noteMessage = (desc: DescriptorProto, scope: string, path: number[]) => {
    const fullName = `${scope}.${desc.name}`;
    note(fullName, path);
    for (const [i, field] of desc.field.entries()) note(`${fullName}.${field.name}`, [...path, messageField, i]);
    for (const [i, oneof] of desc.oneofDecl.entries()) note(`${fullName}.${oneof.name}`, [...path, messageOneof, i]);
    for (const [i, nested] of desc.nestedType.entries()) noteMessage(nested, fullName, [...path, messageNested, i]);
    for (const [i, nested] of desc.enumType.entries()) noteEnum(nested, fullName, [...path, messageEnum, i]);
  };
  for (const [i, message] of file.messageType.entries()) noteMessage(message, file.package, [fileMessage, i]);
  for (const [i, desc] of file.enumType.entries()) noteEnum(desc, file.package, [fileEnum, i]);
  for (const [i, service] of file.service.entries()) {
    note(`${file.package}.${service.name}`, [fileService, i]);
    for (const [j, method] of service.method.entries()) {
      note(`${file.package}.${service.name}.${method.name}`, [fileService, i, serviceMethod, j]);
    }
  }
  return found;
}
