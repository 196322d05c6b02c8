/** posthorn keys: creates, lists and revokes API keys, on a running or a stopped instance. */
import type { Permission } from "../../http/caller.ts";
import { insertKey, listKeys, makeKeySecret, revokeKey, workspaceHasDomain } from "../../keys/store.ts";
import { Problem } from "../../ops/problem.ts";
import { fromWireId, makeUuid, toWireId } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { ensureFirstWorkspace, findWorkspaceByName, onlyOneNode } from "../../workspaces/store.ts";
import { type Command, type Option, table, UsageError } from "../command.ts";
import { withStore } from "./with-store.ts";

export const workspaceOption: Option = { type: "string", help: "name of the workspace; default: the first one" };

const keysCreate: Command = {
  name: "keys create",
  summary: "Create an API key and print only the key on standard output.",
  options: {
    workspace: workspaceOption,
    permission: { type: "string", help: "full, send or read", value: "full" },
    domain: { type: "string", help: "the only domain that a send key may send from" },
    name: { type: "string", help: "display name", value: "command line" },
    test: { type: "boolean", help: "create a test key: mail sent with it never leaves the machine" },
    json: { type: "boolean", help: "print the key and its id as JSON" },
  },
  async run({ options, config }) {
    const permission = String(options.permission ?? "full");
    if (!["full", "send", "read"].includes(permission))
      throw new UsageError(`--permission must be full, send or read, not ${JSON.stringify(permission)}`);
    const domain = options.domain === undefined ? undefined : String(options.domain).toLowerCase();
    if (domain !== undefined && permission !== "send")
      throw new UsageError("--domain works only with --permission send");
    await withStore(config(), async ({ sql, nowMs }) => {
      const workspaceId = await workspaceFrom(sql, options.workspace, nowMs());
      if (domain !== undefined && !(await workspaceHasDomain(sql, workspaceId, domain))) {
        throw new Problem("failed_precondition", `${domain} is not a domain of this workspace.`);
      }
      const { secret } = makeKeySecret(options.test === true);
      const id = makeUuid(nowMs());
      const name = String(options.name ?? "command line");
      await insertKey(sql, {
        id,
        workspaceId,
        name,
        secret,
        permission: permission as Permission,
        domain,
        test: options.test === true,
      });
      process.stdout.write(options.json ? `${JSON.stringify({ id: toWireId("key", id), secret })}\n` : `${secret}\n`);
    });
  },
};

const keysList: Command = {
  name: "keys list",
  summary: "List API keys, newest first, without their secrets.",
  options: { workspace: workspaceOption, json: { type: "boolean", help: "one JSON object per line" } },
  async run({ options, config }) {
    await withStore(config(), async ({ sql, nowMs }) => {
      const keys = await listKeys(sql, {
        workspaceId: await workspaceFrom(sql, options.workspace, nowMs()),
        before: undefined,
        limit: 1000,
      });
      if (options.json)
        for (const key of keys)
          process.stdout.write(
            `${JSON.stringify({ ...key, id: toWireId("key", key.id), workspaceId: toWireId("workspace", key.workspaceId) })}\n`,
          );
      else {
        const rows = keys.map((k) => [
          toWireId("key", k.id),
          k.prefix,
          k.permission,
          k.test ? "test" : "live",
          k.revokedAt ? "revoked" : "valid",
          k.lastUsedAt?.toISOString() ?? "never used",
          k.name,
        ]);
        process.stdout.write(
          table([["ID", "PREFIX", "PERMISSION", "KIND", "STATE", "LAST USED", "NAME"], ...rows], ""),
        );
      }
    });
  },
};

const keysRevoke: Command = {
  name: "keys revoke",
  summary: "Revoke an API key at once, on every node.",
  words: "KEY_ID",
  options: { workspace: workspaceOption, json: { type: "boolean", help: "print the revoked key as JSON" } },
  async run({ words, options, config }) {
    const id = fromWireId("key", words[0] ?? "");
    if (!id) throw new UsageError(`${JSON.stringify(words[0] ?? "")} is not a key id (key_…). See: posthorn keys list`);
    await withStore(config(), async ({ sql, nowMs }) => {
      const workspaceId = await workspaceFrom(sql, options.workspace, nowMs());
      const key = await revokeKey(sql, { workspaceId, id, testOnly: false });
      if (!key || key === "live key")
        throw new Problem("not_found", `No key ${words[0]} in this workspace. See: posthorn keys list`);
      const line = options.json ? JSON.stringify({ id: words[0], prefix: key.prefix }) : `Key ${key.prefix}… revoked.`;
      process.stdout.write(`${line}\n`);
    });
  },
};

/** The id of the named workspace; without a name, of the first one, which is created if needed. */
export async function workspaceFrom(sql: Sql, name: string | boolean | undefined, nowMs: number): Promise<string> {
  if (typeof name !== "string")
    return await onlyOneNode(sql, (tx) => ensureFirstWorkspace(tx, { id: makeUuid(nowMs), name: "default" }));
  const found = await findWorkspaceByName(sql, name);
  if (found.length === 0)
    throw new UsageError(
      `There is no workspace ${JSON.stringify(name)}. Create it with: posthorn workspaces create ${JSON.stringify(name)}`,
    );
  if (found.length > 1)
    throw new UsageError(`Several workspaces are called ${JSON.stringify(name)}. Rename one of them first.`);
  return found[0]!.id;
}

export const keys = [keysCreate, keysList, keysRevoke];
