// Generates src/gen, the contract in TypeScript, from proto/ with the plugins in buf.gen.yaml.
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { buf } from "./buf.ts";

export const name = "contract code";
export const folder = "src/gen";

export async function generate(): Promise<Map<string, string>> {
  const scratch = await mkdtemp(join(tmpdir(), "posthorn-generate-"));
  try {
    await buf("generate", "--output", scratch);
    return await readTree(scratch);
  } finally {
    await rm(scratch, { recursive: true });
  }
}

async function readTree(top: string): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const entry of await readdir(top, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files.set(relative(top, path), await readFile(path, "utf8"));
  }
  return files;
}
