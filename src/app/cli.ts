/** The command line: finds the command by its words, runs it, and turns mistakes into a sentence and an exit code. */
import { type Command, runCommand, table, UsageError } from "./command.ts";
import { backup, restore } from "./commands/backup.ts";
import { demo } from "./commands/demo.ts";
import { dnsPublish } from "./commands/dns.ts";
import { doctor } from "./commands/doctor.ts";
import {
  domainsAdd,
  domainsDelete,
  domainsList,
  domainsRecords,
  domainsRotate,
  domainsVerify,
  domainsZone,
} from "./commands/domains.ts";
import { events } from "./commands/events.ts";
import { keysCreate, keysList, keysRevoke } from "./commands/keys.ts";
import { migrateCommand } from "./commands/migrate.ts";
import { peopleInvite, peopleList, peopleResetPassword } from "./commands/people.ts";
import { queue } from "./commands/queue.ts";
import { send } from "./commands/send.ts";
import { start } from "./commands/start.ts";
import { workspacesCreate, workspacesList } from "./commands/workspaces.ts";
import { ConfigError } from "./config.ts";
import { version } from "./version.ts";

export const commands: Command[] = [
  start,
  demo,
  send,
  events,
  queue,
  domainsAdd,
  domainsList,
  domainsVerify,
  domainsRecords,
  domainsDelete,
  domainsRotate,
  domainsZone,
  dnsPublish,
  keysCreate,
  keysList,
  keysRevoke,
  workspacesCreate,
  workspacesList,
  peopleList,
  peopleInvite,
  peopleResetPassword,
  doctor,
  backup,
  restore,
  migrateCommand,
];

/** Exit codes: 0 done, 1 failed, 2 the command or the configuration is wrong. */
export async function main(args: string[]): Promise<void> {
  try {
    await dispatch(args);
  } catch (error) {
    const wrong = error instanceof UsageError || error instanceof ConfigError;
    process.stderr.write(
      `${wrong || isExpected(error) ? (error as Error).message : ((error as Error).stack ?? String(error))}\n`,
    );
    process.exitCode = wrong ? 2 : 1;
  }
}

async function dispatch(args: string[]): Promise<void> {
  const [first] = args;
  if (first === undefined || first === "help" || first === "--help" || first === "-h")
    return void process.stdout.write(overview());
  if (first === "--version" || first === "-v") return void process.stdout.write(`${version}\n`);
  const command = commands.find((c) => c.name === args.slice(0, c.name.split(" ").length).join(" "));
  if (!command) {
    const near = commands.filter((c) => c.name.split(" ")[0] === first).map((c) => `posthorn ${c.name}`);
    const hint = near.length > 0 ? `There is: ${near.join(", ")}.` : "See: posthorn --help";
    throw new UsageError(
      `posthorn has no command ${JSON.stringify(args.filter((a) => !a.startsWith("-")).join(" "))}. ${hint}`,
    );
  }
  await runCommand(command, args.slice(command.name.split(" ").length), process.env);
}

function overview(): string {
  const rows = commands.map((command) => [command.name + (command.words ? ` ${command.words}` : ""), command.summary]);
  return `Posthorn ${version}: self-hosted transactional email.\n\nCommands:\n${table(rows)}\nposthorn COMMAND --help says more. From a checkout: npx posthorn COMMAND\n`;
}

/** Failures whose own words are enough: a stack would only frighten. */
function isExpected(error: unknown): boolean {
  return (
    ["EmbeddedError", "SchemaError", "SecretError", "Problem"].includes((error as Error)?.name) ||
    (error as NodeJS.ErrnoException)?.code === "EADDRINUSE"
  );
}
