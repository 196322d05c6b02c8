/** The words of --help, for every command and every group. scripts/generators/command-line.ts writes them to bin/command-line.json. */
import { type Command, type Option, settingFlags, table } from "./command.ts";
import { version } from "./version.ts";

export type Described = Pick<Command, "name" | "summary" | "words" | "options">;

/** Answered by bin/posthorn.js from the generated file, like --help itself. */
export const completion: Described = {
  name: "completion",
  summary: "Print the completions of all commands, options and settings for a shell.",
  words: "bash|zsh|fish",
  options: {},
};

/** First words that stand for several commands, each with the second words: `keys` has create, list and revoke. */
export function groupsOf(commands: readonly Described[]): Record<string, string[]> {
  const groups: Record<string, string[]> = {};
  for (const [group, second] of commands.map(({ name }) => name.split(" ")))
    if (second !== undefined) groups[group!] = [...(groups[group!] ?? []), second];
  return groups;
}

/** By what was typed before --help: nothing, a group, or a command. */
export function helpTexts(commands: readonly Described[]): Record<string, string> {
  const groups = Object.keys(groupsOf(commands));
  return {
    "": overview(commands),
    ...Object.fromEntries(groups.map((group) => [group, groupHelp(group, commands)])),
    ...Object.fromEntries(commands.map((command) => [command.name, helpOf(command)])),
  };
}

function overview(commands: readonly Described[]): string {
  return `Posthorn ${version}: self-hosted transactional email.

Commands:
${table(commands.map(rowOf))}
posthorn COMMAND --help says more. From a checkout: npx posthorn COMMAND
`;
}

function groupHelp(group: string, commands: readonly Described[]): string {
  const rows = commands.filter(({ name }) => name.startsWith(`${group} `)).map(rowOf);
  return `Usage: posthorn ${group} COMMAND [options]

Commands:
${table(rows)}
posthorn ${group} COMMAND --help says more.
`;
}

function rowOf({ name, words, summary }: Described): string[] {
  return [words === undefined ? name : `${name} ${words}`, summary];
}

function helpOf({ name, words, summary, options }: Described): string {
  const all: Record<string, Option> = { ...options, help: { type: "boolean", help: "show this" } };
  const rows = Object.entries(all).map(([flag, option]) => [
    `--${flag}${option.type === "string" ? ` ${flag.toUpperCase()}` : ""}`,
    withDefault(option),
  ]);
  const text = `${summary}

Usage: posthorn ${name}${words ? ` ${words}` : ""} [options]

Options:
${table(rows)}`;
  if (name === completion.name) return text;
  if (name !== "start")
    return `${text}\nEvery setting of posthorn start --help works here too, as a flag or in the environment.\n`;
  const flags = Object.entries(settingFlags).map(([flag, setting]) => [
    `--${flag}`,
    setting.name,
    withDefault(setting),
  ]);
  return `${text}\nSettings, as a flag or in the environment:\n${table(flags)}`;
}

function withDefault({ help, value }: { help: string; value?: string }): string {
  return help + (value ? ` (default ${value})` : "");
}
