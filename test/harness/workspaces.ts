/** Two workspaces of one program, each with a key of every permission: what one may not see of the other is what tests ask. */
import type { RunningProgram } from "./program.ts";
import { runCommand } from "./program.ts";

export const permissions = ["full", "send", "read"] as const;
export type Keys = Record<(typeof permissions)[number], string>;
export type World = {
  program: RunningProgram;
  ours: Keys;
  theirs: Keys;
  /** A domain that the other workspace may send from. */
  theirDomain: string;
};

export async function twoWorkspaces(program: RunningProgram, databaseUrl: string): Promise<World> {
  const run = async (...args: string[]) => {
    const done = await runCommand(args, { dataDir: program.dataDir, databaseUrl });
    if (done.code !== 0) throw new Error(`posthorn ${args.join(" ")}: ${done.stderr}`);
    return done.stdout.trim();
  };
  await run("workspaces", "create", "Their workspace");
  const theirFirst = await run("keys", "create", "--workspace", "Their workspace");
  const theirDomain = "their-own.test";
  for (const verb of ["domains add", "dns publish", "domains verify"])
    await run(...verb.split(" "), theirDomain, "--workspace", "Their workspace");
  const ours = await allKeys(program, program.key);
  return { program, ours, theirs: await allKeys(program, theirFirst), theirDomain };
}

async function allKeys(program: RunningProgram, full: string): Promise<Keys> {
  const make = async (permission: string) => (await createKey(program, { key: full, permission })).secret;
  return { full, send: await make("SEND"), read: await make("READ") };
}

/** A key made by the API, in the workspace of the key that asks. */
export async function createKey(
  program: RunningProgram,
  options: { key?: string; permission?: string; name?: string } = {},
): Promise<{ id: string; secret: string }> {
  const permission = `KEY_PERMISSION_${options.permission ?? "FULL"}`;
  const answer = await program.call(
    "KeyService/CreateKey",
    { name: options.name ?? "made by a test", permission },
    { key: options.key ?? program.key },
  );
  if (answer.status !== 200) throw new Error(`CreateKey: ${JSON.stringify(answer.body)}`);
  return { id: (answer.body.key as { id: string }).id, secret: answer.body.secret as string };
}
