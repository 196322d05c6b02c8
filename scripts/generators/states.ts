// Writes docs/states.md from the state machines in src/*/rules, so that the page always matches the code.
import { glob } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { StateMachine } from "../../src/ops/state-machine.ts";

export const name = "states";

const root = resolve(import.meta.dirname, "../..");

export async function generate(): Promise<Map<string, string>> {
  const machines = await findMachines();
  const intro = [
    "# States",
    "",
    "Each status in this program is a state machine. A table in the `rules/` of its folder lists every possible transition.",
    "`npm run generate` writes this page from these tables.",
    "",
  ];
  return new Map([["docs/states.md", intro.concat(machines.flatMap(describe)).join("\n")]]);
}

/** Every state machine that a `status.ts` or `…-status.ts` in a folder `rules` exports, ordered by name. */
async function findMachines(): Promise<StateMachine[]> {
  const machines: StateMachine[] = [];
  for await (const file of glob("src/*/rules/*status.ts", { cwd: root })) {
    const module: Record<string, unknown> = await import(pathToFileURL(join(root, file)).href);
    machines.push(...Object.values(module).filter(isMachine));
  }
  return machines.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function isMachine(value: unknown): value is StateMachine {
  return typeof value === "object" && value !== null && "name" in value && "states" in value && "transitions" in value;
}

function describe(machine: StateMachine): string[] {
  return [
    `## ${machine.name[0]?.toUpperCase()}${machine.name.slice(1)}`,
    "",
    machine.about,
    "",
    "```mermaid",
    "stateDiagram-v2",
    `  [*] --> ${machine.initial}`,
    ...machine.transitions.map((row) => `  ${row.from} --> ${row.to}: ${row.event}`),
    "```",
    "",
    "| state | meaning |",
    "|---|---|",
    ...Object.entries(machine.states).map(([state, meaning]) => `| \`${state}\` | ${meaning} |`),
    "",
    "| event | cause |",
    "|---|---|",
    ...Object.entries(machine.events).map(([event, meaning]) => `| \`${event}\` | ${meaning} |`),
    "",
    "| from | event | to |",
    "|---|---|---|",
    ...machine.transitions.map((row) => `| \`${row.from}\` | \`${row.event}\` | \`${row.to}\` |`),
    "",
  ];
}
