/** posthorn keys: creates, lists and revokes API keys, on a running or a stopped instance. keys-change.ts has update and rotate. */
import { audited, commandLine } from "../../audit/record.ts";
import type { Permission } from "../../http/caller.ts";
import { keyChange, requireDomains, sendingProblems } from "../../keys/changes.ts";
import { insertKey, type Key, listKeys, makeKeySecret, revokeKey } from "../../keys/store.ts";
import { Problem } from "../../ops/problem.ts";
import { fromWireId, makeUuid, toWireId } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { ensureFirstWorkspace, onlyOneNode } from "../../workspaces/store/first.ts";
import { findWorkspaceByName } from "../../workspaces/store.ts";
import { type Command, type Option, table, UsageError } from "../command.ts";
import { limitOptions, readKeyLimits } from "./key-options.ts";
import { withStore } from "./with-store.ts";

export const workspaceOption: Option = { type: "string", help: "name of the workspace; default: the first one" };

const keysCreate: Command = {
  name: "keys create",
  summary: "Create an API key and print only the key on standard output.",
  options: {
    workspace: workspaceOption,
    permission: { type: "string", help: "full, send or read; not with --scope", value: "full" },
    ...limitOptions,
    name: { type: "string", help: "display name", value: "command line" },
    test: { type: "boolean", help: "create a test key: mail sent with it never leaves the machine" },
    json: { type: "boolean", help: "print the key and its id as JSON" },
  },
  async run({ options, lists, config }) {
    const permission = permissionFrom(options.permission, lists.scope ?? []);
    const test = options.test === true;
    await withStore(config(), async ({ sql, nowMs }) => {
      const { limits } = readKeyLimits(lists, options.expires, nowMs());
      requireLimitsThatFit(permission, { isDefault: options.permission === undefined, limits });
      const workspaceId = await workspaceFrom(sql, options.workspace, nowMs());
      await requireDomains(sql, workspaceId, limits.domains);
      const { secret } = makeKeySecret(test);
      const id = makeUuid(nowMs());
      const name = String(options.name ?? "command line");
      await audited(
        sql,
        commandLine,
        (tx) => insertKey(tx, { id, workspaceId, name, secret, permission, test, limits }),
        () => keyChange("key.created", { workspaceId, id }),
      );
      process.stdout.write(options.json ? `${JSON.stringify({ id: toWireId("key", id), secret })}\n` : `${secret}\n`);
    });
  },
};

function permissionFrom(given: string | boolean | undefined, scopes: readonly string[]): Permission {
  if (scopes.length > 0) {
    if (given !== undefined) throw new UsageError("A key has a permission or scopes: give --permission or --scope");
    return "scoped";
  }
  const permission = String(given ?? "full");
  if (permission === "full" || permission === "send" || permission === "read") return permission;
  throw new UsageError(`--permission must be full, send or read, not ${JSON.stringify(permission)}`);
}

/** A limit on sending without a permission is likely a mistake: the default is a full key. */
function requireLimitsThatFit(
  permission: Permission,
  { isDefault, limits }: { isDefault: boolean; limits: Parameters<typeof sendingProblems>[1] },
): void {
  const flag = limits.domains ? "--domain" : "--allow-recipient";
  const isLimited = limits.domains !== undefined || limits.recipients !== undefined;
  if (isLimited && permission === "full" && isDefault)
    throw new UsageError(`${flag} needs --permission send, --permission full or --scope send`);
  if (sendingProblems(permission, limits).length > 0)
    throw new UsageError(`${flag} works only for a key that can send`);
}

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
      if (options.json) for (const key of keys) process.stdout.write(`${JSON.stringify(jsonOf(key))}\n`);
      else {
        const rows = keys.map((key) => [
          toWireId("key", key.id),
          key.prefix,
          key.scopes?.join(",") ?? key.permission,
          key.test ? "test" : "live",
          stateOf(key, nowMs()),
          key.lastUsedAt?.toISOString() ?? "never used",
          key.expiresAt?.toISOString() ?? "never",
          makerOf(key)?.name ?? "",
          key.name,
        ]);
        const head = ["ID", "PREFIX", "PERMISSION", "KIND", "STATE", "LAST USED", "EXPIRES", "MADE BY", "NAME"];
        process.stdout.write(table([head, ...rows], ""));
      }
    });
  },
};

function stateOf({ revokedAt, expiresAt }: Key, nowMs: number): string {
  if (revokedAt) return "revoked";
  return expiresAt && expiresAt.getTime() <= nowMs ? "expired" : "valid";
}

function makerOf({ makerPersonId, makerKeyId, makerName }: Key) {
  if (makerPersonId) {
    const id = toWireId("person", makerPersonId);
    return { kind: "person", id, name: makerName ?? id };
  }
  if (!makerKeyId) return undefined;
  const id = toWireId("key", makerKeyId);
  return { kind: "key", id, name: makerName ?? id };
}

function jsonOf(key: Key) {
  const { makerPersonId: _, makerKeyId: __, makerName: ___, ...shown } = key;
  return {
    ...shown,
    id: toWireId("key", key.id),
    workspaceId: toWireId("workspace", key.workspaceId),
    domain: key.domains?.length === 1 ? key.domains[0] : null,
    maker: makerOf(key),
    rotatedFrom: key.rotatedFrom && toWireId("key", key.rotatedFrom),
  };
}

const keysRevoke: Command = {
  name: "keys revoke",
  summary: "Revoke an API key at once, on every node.",
  words: "KEY_ID",
  options: { workspace: workspaceOption, json: { type: "boolean", help: "print the revoked key as JSON" } },
  async run({ words, options, config }) {
    const id = keyIdFrom(words);
    await withStore(config(), async ({ sql, nowMs }) => {
      const workspaceId = await workspaceFrom(sql, options.workspace, nowMs());
      const key = await audited(
        sql,
        commandLine,
        (tx) => revokeKey(tx, { workspaceId, id, testOnly: false }),
        (row) => row && keyChange("key.revoked", { workspaceId, id }),
      );
      if (!key || key === "live key") throw noSuchKey(words[0]);
      const line = options.json ? JSON.stringify({ id: words[0], prefix: key.prefix }) : `Key ${key.prefix}… revoked.`;
      process.stdout.write(`${line}\n`);
    });
  },
};

export function keyIdFrom(words: readonly string[]): string {
  const id = fromWireId("key", words[0] ?? "");
  if (!id) throw new UsageError(`${JSON.stringify(words[0] ?? "")} is not a key id (key_…). See: posthorn keys list`);
  return id;
}

export function noSuchKey(id: string | undefined): Problem {
  return new Problem("not_found", `No key ${id} in this workspace. See: posthorn keys list`);
}

/** The id of the named workspace; without a name, of the first one, which is created if needed. */
export async function workspaceFrom(sql: Sql, name: string | boolean | undefined, nowMs: number): Promise<string> {
  if (typeof name !== "string")
    return await onlyOneNode(sql, (tx) =>
      ensureFirstWorkspace(tx, { id: makeUuid(nowMs), name: "default" }, commandLine),
    );
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
