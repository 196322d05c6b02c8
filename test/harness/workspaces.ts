/** Two workspaces of one program, each with a key of every permission: what one may not see of the other is what tests ask. */
import type { Sql } from "../../src/store/db.ts";
import { makeUuid } from "../../src/store/ids.ts";
import { insertKey, makeKeySecret } from "../../src/store/keys.ts";
import { createWorkspace } from "../../src/store/workspaces.ts";
import type { WireDomain } from "./customer.ts";
import type { RunningProgram } from "./program.ts";

export const permissions = ["full", "send", "read"] as const;
export type Keys = Record<(typeof permissions)[number], string>;
export type World = {
  program: RunningProgram;
  ours: Keys;
  theirs: Keys;
  /** A domain that the other workspace may send from. */
  theirDomain: string;
};

export async function twoWorkspaces(program: RunningProgram, sql: Sql): Promise<World> {
  const theirFirst = await makeWorkspace(sql, "Their workspace");
  const theirDomain = "their-own.test";
  const call = async (method: string, request: object) => {
    const { status, body } = await program.call(`DomainService/${method}`, request, { key: theirFirst });
    if (status !== 200) throw new Error(`${method}: ${JSON.stringify(body)}`);
    return body.domain as WireDomain;
  };
  const { id } = await call("AddDomain", { domain: theirDomain });
  const { summary } = await call("PublishToLocalDns", { id });
  if (!summary.canSend) throw new Error(`${theirDomain} cannot send`);
  const ours = await allKeys(program, program.key);
  return { program, ours, theirs: await allKeys(program, theirFirst), theirDomain };
}

/** Another workspace with a full key, as `workspaces create` and `keys create` make them, without two starts of the command line. */
export async function makeWorkspace(sql: Sql, name: string): Promise<string> {
  const { id: workspaceId } = await createWorkspace(sql, { id: makeUuid(Date.now()), name });
  const { secret } = makeKeySecret(false);
  const id = makeUuid(Date.now());
  await insertKey(sql, { id, workspaceId, name: "made by a test", secret, permission: "full", test: false });
  return secret;
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
