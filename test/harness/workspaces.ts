/** Creates two workspaces in one program, each with a key of every permission, for tests of the isolation between them. */

import { insertKey, makeKeySecret } from "../../src/keys/store.ts";
import { makeUuid } from "../../src/postgres/ids.ts";
import type { Sql } from "../../src/postgres/pool.ts";
import { createWorkspace } from "../../src/workspaces/store.ts";
import type { WireDomain } from "./customer.ts";
import type { RunningProgram } from "./program.ts";

export const permissions = ["full", "send", "read"] as const;
export type Keys = Record<(typeof permissions)[number], string>;
export type TwoWorkspaces = {
  program: RunningProgram;
  ours: Keys;
  theirs: Keys;
  /** A domain that the other workspace may send from. */
  theirDomain: string;
};

export async function twoWorkspaces(program: RunningProgram, sql: Sql): Promise<TwoWorkspaces> {
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

/** Creates another workspace and a full key directly in the database, without running `workspaces create` and `keys create`. */
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

/** Creates a key with the API, in the workspace of the calling key. */
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
