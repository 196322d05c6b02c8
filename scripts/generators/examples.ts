// Reads the example requests and events of proto/examples, which the reference pages show and a test holds against the contract.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { DescMethod, JsonValue } from "@bufbuild/protobuf";
import { root } from "./buf.ts";

const folder = "proto/examples";

export const requestPath = (method: DescMethod) => `${folder}/${method.parent.name}/${method.name}.json`;

export const eventPath = (type: string) => `${folder}/events/${type}.json`;

export async function readExample(path: string): Promise<JsonValue> {
  return JSON.parse(await readFile(join(root, path), "utf8")) as JsonValue;
}
