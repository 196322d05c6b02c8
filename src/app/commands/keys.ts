/** posthorn keys: creates, lists and revokes API keys, locally or at another instance. keys-change.ts has update and rotate. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { Permission } from "../../http/caller.ts";
import { sendingProblems } from "../../keys/changes.ts";
import { Problem } from "../../ops/problem.ts";
import { fromWireId, toWireId } from "../../postgres/ids.ts";
import { type Command, UsageError } from "../command.ts";
import { fittedTable, jsonLine, plain, write } from "../output.ts";
import { confirm, yesOption } from "./confirm.ts";
import { limitOptions, limitsOnWire, readKeyLimits } from "./key-options.ts";
import { pages } from "./listing.ts";
import { nameOf } from "./target.ts";
import { apiOptions, type CommandApi, targetOf, withApi, withTarget } from "./with-api.ts";

/** A key as in the API's JSON. */
export type WireKey = JsonObject & {
  id: string;
  name: string;
  prefix: string;
  permission: string;
  test: boolean;
  createdAt: string;
  lastUsedAt?: string;
  lastUsedAddress?: string;
  revokedAt?: string;
  expiresAt?: string;
  scopes?: string[];
  domains?: string[];
  allowedRecipients?: string[];
  allowedAddresses?: string[];
  maker?: { kind: string; id: string; name: string };
  rotatedFrom?: string;
};

const keysCreate: Command = {
  name: "keys create",
  summary: "Create an API key and print only the key on standard output.",
  options: {
    permission: { type: "string", help: "full, send or read; not with --scope", value: "full" },
    ...limitOptions,
    name: { type: "string", help: "display name", value: "command line" },
    test: { type: "boolean", help: "create a test key: mail sent with it never leaves the machine" },
    json: { type: "boolean", help: "print the key and its id as JSON" },
    ...apiOptions,
  },
  async run(input) {
    const { options, lists } = input;
    const permission = permissionFrom(options.permission, lists.scope ?? []);
    await withApi(input, async (api) => {
      const { limits } = readKeyLimits(lists, options.expires, nowOf(api));
      requireLimitsThatFit(permission, { isDefault: options.permission === undefined, limits });
      const { key, secret } = await api.call<{ key: WireKey; secret: string }>("KeyService/CreateKey", {
        name: String(options.name ?? "command line"),
        test: options.test === true,
        ...(permission === "scoped" ? {} : { permission: `KEY_PERMISSION_${permission.toUpperCase()}` }),
        ...limitsOnWire(limits),
      });
      await write(options.json ? jsonLine({ id: key.id, secret }) : `${plain(secret)}\n`);
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
  options: { json: { type: "boolean", help: "one JSON object per line" }, ...apiOptions },
  async run(input) {
    await withApi(input, async (api) => {
      const keys: WireKey[] = [];
      for await (const key of pages<WireKey>(api, "KeyService/ListKeys", {})) keys.push(key);
      if (input.options.json) for (const key of keys) await write(jsonLine(jsonOf(key, api)));
      else await write(keys.length > 0 ? show(keys, nowOf(api)) : "No keys yet. Create one: posthorn keys create\n");
    });
  },
};

function show(keys: readonly WireKey[], nowMs: number): string {
  const rows = keys.map((key) => [
    key.id,
    key.prefix,
    scopesOf(key)?.join(",") ?? permissionOf(key),
    key.test ? "test" : "live",
    stateOf(key, nowMs),
    dateOf(key.lastUsedAt) ?? "never used",
    dateOf(key.expiresAt) ?? "never",
    makerOf(key)?.name ?? "",
    key.name,
  ]);
  const head = ["ID", "PREFIX", "PERMISSION", "KIND", "STATE", "LAST USED", "EXPIRES", "MADE BY", "NAME"];
  return fittedTable([head, ...rows], [2, 7, 8]);
}

function stateOf({ revokedAt, expiresAt }: WireKey, nowMs: number): string {
  if (revokedAt) return "revoked";
  return expiresAt && Date.parse(expiresAt) <= nowMs ? "expired" : "valid";
}

const wordOf = (constant: string, prefix: string) => constant.replace(prefix, "").toLowerCase();

function permissionOf({ permission }: WireKey): string {
  return permission === "KEY_PERMISSION_UNSPECIFIED" ? "scoped" : wordOf(permission, "KEY_PERMISSION_");
}

function scopesOf({ scopes = [] }: WireKey): string[] | null {
  return scopes.length > 0 ? scopes.map((scope) => wordOf(scope, "KEY_SCOPE_")) : null;
}

function makerOf({ maker }: WireKey) {
  return maker && { kind: wordOf(maker.kind, "KEY_MAKER_KIND_"), id: maker.id, name: maker.name || maker.id };
}

function dateOf(text: string | undefined): string | null {
  return text === undefined ? null : new Date(text).toISOString();
}

/** The JSON of the first release of this command, which differs from the API's. */
function jsonOf(key: WireKey, { local }: CommandApi) {
  const listOf = (list: string[] | undefined) => (list && list.length > 0 ? list : null);
  const domains = listOf(key.domains);
  return {
    id: key.id,
    ...(local && { workspaceId: toWireId("workspace", local.workspaceId) }),
    name: key.name,
    prefix: key.prefix,
    permission: permissionOf(key),
    test: key.test,
    createdAt: dateOf(key.createdAt),
    lastUsedAt: dateOf(key.lastUsedAt),
    lastUsedAddress: key.lastUsedAddress || null,
    revokedAt: dateOf(key.revokedAt),
    expiresAt: dateOf(key.expiresAt),
    scopes: scopesOf(key),
    domains,
    recipients: listOf(key.allowedRecipients),
    addresses: listOf(key.allowedAddresses),
    rotatedFrom: key.rotatedFrom || null,
    domain: domains?.length === 1 ? domains[0] : null,
    maker: makerOf(key),
  };
}

const keysRevoke: Command = {
  name: "keys revoke",
  summary: "Revoke an API key at once, on every node.",
  words: "KEY_ID",
  options: { yes: yesOption, json: { type: "boolean", help: "print the revoked key as JSON" }, ...apiOptions },
  async run(input) {
    const { options } = input;
    const id = keyIdFrom(input.words);
    const target = await targetOf(input);
    await confirm(`Programs that use the key ${id} of ${nameOf(target)} stop working at once.`, {
      options,
      scriptsNeedNoYes: target === undefined,
    });
    await withTarget(input, target, async (api) => {
      const { key } = await callForKey<{ key: WireKey }>(api, "KeyService/RevokeKey", { id });
      await write(options.json ? jsonLine({ id, prefix: key.prefix }) : `Key ${plain(key.prefix)}… revoked.\n`);
    });
  },
};

/** The id of a key, as the API takes it. */
export function keyIdFrom(words: readonly string[]): string {
  const [id = ""] = words;
  if (words.length !== 1 || !fromWireId("key", id))
    throw new UsageError(`${JSON.stringify(words.join(" "))} is not a key id (key_…). See: posthorn keys list`);
  return id;
}

export async function callForKey<T>(api: CommandApi, method: string, request: JsonObject & { id: string }): Promise<T> {
  return await api.call<T>(method, request).catch((error) => {
    if (!(error instanceof Problem) || error.code !== "not_found") throw error;
    throw new Problem("not_found", `No key ${request.id} in this workspace. See: posthorn keys list`, { cause: error });
  });
}

/** Another instance has its own clock. Its service refuses a time that has passed there. */
export function nowOf({ local }: CommandApi): number {
  return local?.nowMs() ?? Date.now();
}

export const keys = [keysCreate, keysList, keysRevoke];
