/** What a command of the command line is, and how its words are read. The same table of options gives --help (help.ts) and completions. */
import { parseArgs } from "node:util";
import { type Config, readConfig, settings } from "./config.ts";

export type Option = {
  type: "string" | "boolean";
  help: string;
  value?: string;
  /** May be given several times; read from `lists`. */
  many?: true;
};
export type Command = {
  /** As typed: `keys create`. */
  name: string;
  summary: string;
  /** Words after the name, for the usage line. */
  words?: string;
  options: Record<string, Option>;
  run(input: {
    words: string[];
    options: Record<string, string | boolean | undefined>;
    /** The values of options that may be given several times. */
    lists: Record<string, string[]>;
    config: () => Config;
    /** Aborted when the user or the service manager asks a command that stays up to stop. */
    stop: AbortSignal;
  }): Promise<void>;
};

/** A mistake of the person at the keyboard: printed without a stack, exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Every setting of the configuration is a flag too: `--http` is POSTHORN_HTTP. */
export const settingFlags = Object.fromEntries(
  Object.entries(settings).map(([name, setting]) => [
    flagOf(name),
    { name, help: setting.help, value: "value" in setting ? setting.value : undefined },
  ]),
);

export async function runCommand(
  command: Command,
  args: string[],
  { env, stop }: { env: NodeJS.ProcessEnv; stop: AbortSignal },
): Promise<void> {
  const flags = Object.keys(settingFlags).filter((flag) => !(flag in command.options));
  let parsed: { values: Record<string, unknown>; positionals: string[] };
  try {
    parsed = parseArgs({
      args,
      allowPositionals: command.words !== undefined,
      options: {
        ...Object.fromEntries(
          Object.entries(command.options).map(([name, option]) => [
            name,
            { type: option.type, multiple: option.many === true },
          ]),
        ),
        ...Object.fromEntries(flags.map((flag) => [flag, { type: "string" as const }])),
      },
    });
  } catch (error) {
    throw new UsageError(`${(error as Error).message.split(". To specify")[0]}\nSee: posthorn ${command.name} --help`);
  }
  const merged = { ...env };
  for (const flag of flags) {
    const value = parsed.values[flag];
    if (typeof value === "string") merged[settingFlags[flag]!.name] = value;
  }
  const many = Object.keys(command.options).filter((name) => command.options[name]?.many);
  await command.run({
    words: parsed.positionals,
    lists: Object.fromEntries(many.map((name) => [name, (parsed.values[name] as string[] | undefined) ?? []])),
    options: parsed.values as Record<string, string | boolean | undefined>,
    config: () => readConfig(merged),
    stop,
  });
}

export function table(rows: (string | undefined)[][], indent = "  "): string {
  const widths = rows[0]?.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0))) ?? [];
  return (
    rows
      .map((row) =>
        `${indent}${row.map((cell, i) => (i < row.length - 1 ? (cell ?? "").padEnd(widths[i]!) : (cell ?? ""))).join("  ")}`.trimEnd(),
      )
      .join("\n") + "\n"
  );
}

function flagOf(name: string): string {
  return name
    .replace(/^POSTHORN_/, "")
    .toLowerCase()
    .replaceAll("_", "-");
}
