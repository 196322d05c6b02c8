// Reads the example requests and events in proto/examples. The reference pages show them, and examples.test.ts checks them.
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
