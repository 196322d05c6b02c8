/** The type of a command and the parsing of its arguments. output.ts has what commands print. Used by cli.ts and every command.
 * --help (help.ts) and completions (completion.ts) are made from the same option tables. */
import { parseArgs } from "node:util";
import { type Config, readConfig } from "./config.ts";
import { settings } from "./settings.ts";

export type Option = {
  type: "string" | "boolean";
  help: string;
  value?: string;
  /** The option may be repeated; its values are in `lists`. */
  many?: true;
};
export type Command = {
  /** As the user types it: `keys create`. */
  name: string;
  summary: string;
  /** The positional arguments, for the usage line; undefined: the command takes none. */
  words?: string;
  options: Record<string, Option>;
  run(input: {
    /** Positional arguments. */
    words: string[];
    options: Record<string, string | boolean | undefined>;
    /** The values of repeatable options. */
    lists: Record<string, string[]>;
    config: () => Config;
    /** The environment, with the settings of the command line. */
    env: NodeJS.ProcessEnv;
    /** Aborted by SIGINT or SIGTERM, in the commands that bin/posthorn.js lets end cleanly. */
    stop: AbortSignal;
  }): Promise<void>;
};

/** The user's mistake: printed without a stack trace, exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Every setting is also a flag: `--http` is POSTHORN_HTTP. */
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
    const [, remote] = /^Unknown option '--(url|profile)'/.exec((error as Error).message) ?? [];
    if (remote)
      throw new UsageError(
        `posthorn ${command.name} works only on the local data directory, so it has no --${remote}. Run it on the server itself.`,
      );
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
    env: merged,
    stop,
  });
}

function flagOf(name: string): string {
  return name
    .replace(/^POSTHORN_/, "")
    .toLowerCase()
    .replaceAll("_", "-");
}
