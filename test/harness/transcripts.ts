/** Re-runs the commands in the console blocks of a docs page against a real program, and returns the page with the actual output. */
import { fileURLToPath } from "node:url";
import { shell as inShell } from "./shell.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Replaces the output of every `$ command`, in order. Values that differ between runs are replaced by fixed ones. */
export async function rerun(page: string, env: Record<string, string>): Promise<string> {
  const normalize = createNormalizer(env);
  let updated = "";
  let rest = page;
  for (;;) {
    const block = /^```console\n([\s\S]*?)^```$/m.exec(rest);
    if (!block) return updated + rest;
    updated += `${rest.slice(0, block.index)}\`\`\`console\n`;
    for (const command of commandsIn(block[1]!)) {
      const output = normalize(await shell(command.slice(2), env)).trimEnd();
      updated += `${command}\n${output === "" ? "" : `${output}\n`}`;
    }
    updated += "```";
    rest = rest.slice(block.index + block[0].length);
  }
}

/** The commands of a block. A command continues after a line that ends with a backslash. */
export function commandsIn(block: string): string[] {
  return block.match(/^\$ (?:.*\\\n)*.*$/gm) ?? [];
}

async function shell(command: string, env: Record<string, string>): Promise<string> {
  try {
    return (await inShell(command, { cwd: root, env: { ...process.env, ...env } })).stdout;
  } catch (error) {
    const { code, stdout, stderr } = error as { code: unknown; stdout: string; stderr: string };
    // curl exits with 28 after --max-time and with 22 after an error response. Both are expected in the docs.
    if (code === 22 || code === 28) return stdout;
    throw new Error(`${command}\n${stdout}${stderr}`);
  }
}

/** Replaces each id by a fixed one, all times by one time, and values of the environment by their variable names. */
function createNormalizer(env: Record<string, string>): (text: string) => string {
  const ids = new Map<string, string>();
  const idOf = (found: string) => {
    if (!ids.has(found)) ids.set(found, `01938a52-10aa-7c3d-8f21-${String(ids.size + 1).padStart(12, "0")}`);
    return ids.get(found)!;
  };
  return (text) => {
    let normalized = text
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, idOf)
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "2026-01-31T09:30:00.417Z");
    for (const [name, value] of Object.entries(env)) normalized = normalized.replaceAll(value, `$${name}`);
    return normalized;
  };
}
