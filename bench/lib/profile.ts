/** CPU profiles of the program on request (--profile): Node writes one per thread when the program ends, and we say where. */
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const outputDir = fileURLToPath(new URL("../output/", import.meta.url));

/** From now on every program that a stage starts is profiled; the function given back tells which files came of it. */
export async function profilePrograms(): Promise<() => Promise<string[]>> {
  await mkdir(outputDir, { recursive: true });
  const profiles = async () => (await readdir(outputDir)).filter((name) => name.endsWith(".cpuprofile"));
  const before = new Set(await profiles());
  process.env.BENCH_PROFILE = "1";
  return async () => (await profiles()).filter((name) => !before.has(name)).map((name) => join(outputDir, name));
}

/** For the program's environment. */
export function profileEnv(): Record<string, string> {
  if (!process.env.BENCH_PROFILE) return {};
  return { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${JSON.stringify(outputDir)}` };
}
