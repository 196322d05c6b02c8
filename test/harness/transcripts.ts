/** Transcripts in the docs: the commands of a page's console blocks, run against a real program, and the page with what they really say. */
import { fileURLToPath } from "node:url";
import { shell as inShell } from "./shell.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The page with the output of every `$ command` renewed, in order, values that differ from run to run replaced by steady ones. */
export async function rerun(page: string, env: Record<string, string>): Promise<string> {
  const steady = createSteady(env);
  let renewed = "";
  let rest = page;
  for (;;) {
    const block = /^```console\n([\s\S]*?)^```$/m.exec(rest);
    if (!block) return renewed + rest;
    renewed += `${rest.slice(0, block.index)}\`\`\`console\n`;
    for (const command of commandsIn(block[1]!)) {
      const output = steady(await shell(command.slice(2), env)).trimEnd();
      renewed += `${command}\n${output === "" ? "" : `${output}\n`}`;
    }
    renewed += "```";
    rest = rest.slice(block.index + block[0].length);
  }
}

/** A command goes on over lines that end with a backslash. */
export function commandsIn(block: string): string[] {
  return block.match(/^\$ (?:.*\\\n)*.*$/gm) ?? [];
}

async function shell(command: string, env: Record<string, string>): Promise<string> {
  try {
    return (await inShell(command, { cwd: root, env: { ...process.env, ...env } })).stdout;
  } catch (error) {
    const { code, stdout, stderr } = error as { code: unknown; stdout: string; stderr: string };
    // A stream that is left after --max-time ends curl with 28, a refused one with 22: both are part of the story.
    if (code === 22 || code === 28) return stdout;
    throw new Error(`${command}\n${stdout}${stderr}`);
  }
}

/** Ids keep their order and their sameness, times become one moment, and the environment's values their names. */
function createSteady(env: Record<string, string>): (text: string) => string {
  const ids = new Map<string, string>();
  const idOf = (found: string) => {
    if (!ids.has(found)) ids.set(found, `01938a52-10aa-7c3d-8f21-${String(ids.size + 1).padStart(12, "0")}`);
    return ids.get(found)!;
  };
  return (text) => {
    let said = text
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, idOf)
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "2026-01-31T09:30:00.417Z");
    for (const [name, value] of Object.entries(env)) said = said.replaceAll(value, `$${name}`);
    return said;
  };
}
