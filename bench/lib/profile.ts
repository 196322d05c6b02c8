/** CPU profiles of the program (--profile). Node writes one per thread when the program exits. */
import { mkdir, readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

export const outputDir = fileURLToPath(new URL("../output/", import.meta.url));

/** Profiles every program that is started from now on. The returned function lists the profiles written since. */
export async function profilePrograms(): Promise<() => Promise<string[]>> {
  await mkdir(outputDir, { recursive: true });
  const profiles = async () => (await readdir(outputDir)).filter((name) => name.endsWith(".cpuprofile"));
  const before = new Set(await profiles());
  process.env.BENCH_PROFILE = "1";
  return async () => (await profiles()).filter((name) => !before.has(name)).map((name) => join(outputDir, name));
}

/** Environment variables that turn profiling on in the program. */
export function profileEnv(): Record<string, string> {
  if (!process.env.BENCH_PROFILE) return {};
  return { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${JSON.stringify(outputDir)}` };
}

type CpuProfile = {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
};

/** The functions with the most self time, as lines of a table. */
export async function topCosts(path: string, count = 12): Promise<string[]> {
  const profile = JSON.parse(await readFile(path, "utf8")) as CpuProfile;
  const names = new Map(profile.nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const micros = new Map<string, number>();
  for (const [i, id] of profile.samples.entries()) {
    const name = names.get(id)!;
    micros.set(name, (micros.get(name) ?? 0) + profile.timeDeltas[i]!);
  }
  micros.delete("(idle)");
  micros.delete("(program)");
  const busy = [...micros.values()].reduce((sum, each) => sum + each, 0);
  return [...micros]
    .sort(([, a], [, b]) => b - a)
    .slice(0, count)
    .map(([name, each]) => `${((each / busy) * 100).toFixed(1).padStart(5)} %  ${name}`);
}

function nameOf({ functionName, url, lineNumber }: CpuProfile["nodes"][number]["callFrame"]): string {
  const name = functionName || "(anonymous)";
  return url === "" ? name : `${name}  ${basename(url)}:${lineNumber + 1}`;
}
