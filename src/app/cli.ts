/** The command line: finds the command, runs it, and turns errors into a message and an exit code. bin/posthorn.js calls it, after
 * bin/help.js has answered --help and unknown commands. */
import { provideToBase64 } from "../ops/base64.ts";
import { type Command, runCommand, UsageError } from "./command.ts";
import { profilePath, readProfiles } from "./commands/profile-file.ts";
import { failureOf } from "./failure.ts";
import { plainLines, ReaderLeft, watchReader } from "./output.ts";

/**
 * Commands by their first word, in the order of --help. Each is imported on demand: the server's modules take most of a second to load,
 * and `posthorn queue` does not need them.
 */
const commands: Record<string, () => Promise<Command[]>> = {
  start: async () => [(await import("./commands/start.ts")).start],
  demo: async () => [(await import("./commands/demo.ts")).demo],
  send: async () => [(await import("./commands/send.ts")).send],
  emails: async () => (await import("./commands/emails.ts")).emails,
  events: async () => [(await import("./commands/events.ts")).events],
  queue: async () => [(await import("./commands/queue.ts")).queue],
  inbound: async () => (await import("./commands/inbound.ts")).inbound,
  suppressions: async () => (await import("./commands/suppressions.ts")).suppressions,
  unsubscribes: async () => (await import("./commands/unsubscribes.ts")).unsubscribes,
  webhooks: async () => (await import("./commands/webhooks.ts")).webhooks,
  stats: async () => [(await import("./commands/stats.ts")).stats],
  domains: async () => [
    ...(await import("./commands/domains.ts")).domains,
    ...(await import("./commands/domain-keys.ts")).domainKeys,
  ],
  reports: async () => (await import("./commands/reports.ts")).reports,
  dns: async () => [(await import("./commands/dns.ts")).dnsPublish],
  keys: async () => [
    ...(await import("./commands/keys.ts")).keys,
    ...(await import("./commands/keys-change.ts")).keyChanges,
  ],
  members: async () => (await import("./commands/members.ts")).members,
  profiles: async () => (await import("./commands/profiles.ts")).profiles,
  workspaces: async () => (await import("./commands/workspaces.ts")).workspaces,
  people: async () => (await import("./commands/people.ts")).people,
  "system-mail": async () => [(await import("./commands/system-mail.ts")).systemMail],
  wordings: async () => [(await import("./commands/wordings.ts")).wordings],
  audit: async () => [(await import("./commands/audit.ts")).audit],
  secret: async () => (await import("./commands/secret.ts")).secret,
  content: async () => (await import("./commands/content.ts")).content,
  doctor: async () => [(await import("./commands/doctor.ts")).doctor],
  backup: async () => [(await import("./commands/backup.ts")).backup],
  restore: async () => [(await import("./commands/backup.ts")).restore],
  log: async () => (await import("./commands/log.ts")).log,
  migrate: async () => [(await import("./commands/migrate.ts")).migrateCommand],
};

export async function allCommands(): Promise<Command[]> {
  return (await Promise.all(Object.values(commands).map((load) => load()))).flat();
}

/** Exit codes: 0 success, 1 failure, 2 a mistake in the command or the configuration. */
export async function main(args: string[], stop: AbortSignal): Promise<void> {
  // The server's log goes through another stream, which handles this itself.
  if (args[0] !== "start") watchReader();
  try {
    await dispatch(args, stop);
  } catch (error) {
    if (error instanceof ReaderLeft) return;
    const { message, exitCode } = failureOf(error);
    // Messages quote what strangers wrote, such as the answer of another server.
    process.stderr.write(`${plainLines(message)}\n`);
    process.exitCode = exitCode;
  }
}

async function dispatch(args: string[], stop: AbortSignal): Promise<void> {
  const [first] = args;
  provideToBase64();
  const candidates = first !== undefined && Object.hasOwn(commands, first) ? await commands[first]!() : [];
  const command = candidates.find((c) => c.name === args.slice(0, c.name.split(" ").length).join(" "));
  if (!command) throw new UsageError(`posthorn has no command ${JSON.stringify(args.join(" "))}. See: posthorn --help`);
  await noteLocal(command);
  await runCommand(command, args.slice(command.name.split(" ").length), { env: process.env, stop });
}

/** A person with a profile in use expects every command to act there. */
async function noteLocal({ name, options }: Command): Promise<void> {
  if ("profile" in options || /^(start|demo|profiles)\b/.test(name)) return;
  const profiles = await readProfiles(profilePath(process.env)).catch(() => undefined);
  if (profiles?.current !== undefined)
    process.stderr.write(
      `posthorn ${name} acts on the local data directory, not at the profile ${profiles.current}, which is in use.\n`,
    );
}
