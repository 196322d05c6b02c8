/** The program's version, and the text of --help for every command and group.
 * scripts/generators/command-line.ts writes the texts to bin/command-line.json. */
import { readFileSync } from "node:fs";
import { type Command, type Option, settingFlags } from "./command.ts";
import { oidcSettings } from "./oidc-settings.ts";
import { table } from "./output.ts";

export const version = (
  JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { version: string }
).version;

/** The part of a command that help and completions show. */
export type CommandInfo = Pick<Command, "name" | "summary" | "words" | "options">;

/** Answered by bin/posthorn.js from the generated file, like --help itself. */
export const completion: CommandInfo = {
  name: "completion",
  summary: "Print the completion script for a shell.",
  words: "bash|zsh|fish",
  options: {},
};

/** Groups by first word, with the second words of their commands: `keys` has create, list and revoke. */
export function groupsOf(commands: readonly CommandInfo[]): Record<string, string[]> {
  const groups: Record<string, string[]> = {};
  for (const [group, second] of commands.map(({ name }) => name.split(" ")))
    if (second !== undefined) groups[group!] = [...(groups[group!] ?? []), second];
  return groups;
}

/** Help texts by the words before --help: none, a group, or a command. */
export function helpTexts(commands: readonly CommandInfo[]): Record<string, string> {
  const groups = Object.keys(groupsOf(commands));
  return {
    "": overview(commands),
    ...Object.fromEntries(groups.map((group) => [group, groupHelp(group, commands)])),
    ...Object.fromEntries(commands.map((command) => [command.name, helpOf(command)])),
  };
}

function overview(commands: readonly CommandInfo[]): string {
  return `Posthorn ${version}: self-hosted transactional email.

Commands:
${table(commands.map(rowOf))}
For details: posthorn COMMAND --help. In a checkout: npx posthorn COMMAND
`;
}

function groupHelp(group: string, commands: readonly CommandInfo[]): string {
  const rows = commands.filter(({ name }) => name.startsWith(`${group} `)).map(rowOf);
  return `Usage: posthorn ${group} COMMAND [options]

Commands:
${table(rows)}
For details: posthorn ${group} COMMAND --help
`;
}

function rowOf({ name, words, summary }: CommandInfo): string[] {
  return [words === undefined ? name : `${name} ${words}`, summary];
}

function helpOf({ name, words, summary, options }: CommandInfo): string {
  const all: Record<string, Option> = { ...options, help: { type: "boolean", help: "show this help" } };
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
    return `${text}\nAll settings of posthorn start --help work here too, as flags or in the environment.\n`;
  const flags = Object.entries(settingFlags).map(([flag, setting]) => [
    `--${flag}`,
    setting.name,
    withDefault(setting),
  ]);
  const providers = Object.entries(oidcSettings).map(([end, setting]) => [
    `POSTHORN_OIDC_<NAME>_${end}`,
    withDefault(setting),
  ]);
  return `${text}\nSettings, as flags or in the environment:\n${table(flags)}
Settings of each provider that POSTHORN_OIDC names, in the environment:\n${table(providers)}`;
}

function withDefault({ help, value }: { help: string; value?: string }): string {
  return help + (value ? ` (default ${value})` : "");
}
