/** The command line: finds the command by its words, runs it, and turns mistakes into a sentence and an exit code.
 * bin/help.js has answered --help and unknown commands before. */
import { type Command, runCommand, UsageError } from "./command.ts";
import { ConfigError } from "./config.ts";

/**
 * By their first word, in the order of --help. Each is loaded when it is asked for: what the server stands on takes most of a second to
 * read, and `posthorn queue` need not wait for it.
 */
const commands: Record<string, () => Promise<Command[]>> = {
  start: async () => [(await import("./commands/start.ts")).start],
  demo: async () => [(await import("./commands/demo.ts")).demo],
  send: async () => [(await import("./commands/send.ts")).send],
  events: async () => [(await import("./commands/events.ts")).events],
  queue: async () => [(await import("./commands/queue.ts")).queue],
  domains: async () => (await import("./commands/domains.ts")).domains,
  dns: async () => [(await import("./commands/dns.ts")).dnsPublish],
  keys: async () => (await import("./commands/keys.ts")).keys,
  workspaces: async () => (await import("./commands/workspaces.ts")).workspaces,
  people: async () => (await import("./commands/people.ts")).people,
  doctor: async () => [(await import("./commands/doctor.ts")).doctor],
  backup: async () => [(await import("./commands/backup.ts")).backup],
  restore: async () => [(await import("./commands/backup.ts")).restore],
  migrate: async () => [(await import("./commands/migrate.ts")).migrateCommand],
};

export async function allCommands(): Promise<Command[]> {
  return (await Promise.all(Object.values(commands).map((load) => load()))).flat();
}

/** Exit codes: 0 done, 1 failed, 2 the command or the configuration is wrong. */
export async function main(args: string[], stop: AbortSignal): Promise<void> {
  try {
    await dispatch(args, stop);
  } catch (error) {
    const wrong = error instanceof UsageError || error instanceof ConfigError;
    process.stderr.write(
      `${wrong || isExpected(error) ? (error as Error).message : ((error as Error).stack ?? String(error))}\n`,
    );
    process.exitCode = wrong ? 2 : 1;
  }
}

async function dispatch(args: string[], stop: AbortSignal): Promise<void> {
  const [first] = args;
  const near = first !== undefined && Object.hasOwn(commands, first) ? await commands[first]!() : [];
  const command = near.find((c) => c.name === args.slice(0, c.name.split(" ").length).join(" "));
  if (!command) throw new UsageError(`posthorn has no command ${JSON.stringify(args.join(" "))}. See: posthorn --help`);
  await runCommand(command, args.slice(command.name.split(" ").length), { env: process.env, stop });
}

/** Failures whose own words are enough: a stack would only frighten. */
function isExpected(error: unknown): boolean {
  return (
    ["DatabaseRefused", "EmbeddedError", "SchemaError", "SecretError", "Problem"].includes((error as Error)?.name) ||
    (error as NodeJS.ErrnoException)?.code === "EADDRINUSE"
  );
}
