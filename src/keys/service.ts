/** `keys` holds the API keys of workspaces. This file is KeyService: it creates, lists, changes, rotates and revokes keys of the caller's
 * workspace. Parts: authenticate.ts identifies the caller of a call by its key, rules/ has the limits and compares them, store.ts and
 * store/ have the SQL, the format and the hash of keys, reminders.ts reports keys that expire.
 * Next: authenticate.ts, then http/gate.ts, which calls it for every API call. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { actorOf, audited, record } from "../audit/record.ts";
import { type CreateKeyRequest, KeyService, type UpdateKeyRequest } from "../gen/v1/key_pb.ts";
import { KeyPermission } from "../gen/v1/options_pb.ts";
import { type Call, serve } from "../http/call.ts";
import { commandKeyId, type KeyLimits, type Permission } from "../http/caller.ts";
import { cutPage, keysetPage } from "../http/paging.ts";
import type { Clock } from "../ops/clock.ts";
import { invalid, notFound, type Violation } from "../ops/problem.ts";
import { fromWireId, makeUuid } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Quotas } from "../quotas/quotas.ts";
import {
  decideRotation,
  decideUpdate,
  keyChange,
  liveKeyByTestKey,
  requireCovered,
  requireDomains,
  requireNoExcess,
  sendingProblems,
  updateEntry,
  type WantedChange,
} from "./changes.ts";
import {
  defaultOverlapMs,
  endProblems,
  maxOverlapMs,
  nameProblems,
  readDomain,
  readEntries,
} from "./rules/settings.ts";
import { type Rotatable, rotateKey, updateKey } from "./store/changes.ts";
import { getKey, insertKey, type Key, listKeys, makeKeySecret, revokeKey } from "./store.ts";
import { keyOnWire, permissionFrom, scopesFrom } from "./wire.ts";

export function createKeyService(deps: { sql: Sql; clock: Clock; quotas: Quotas }) {
  const { sql, clock, quotas } = deps;
  return serve(KeyService, {
    async createKey(request, call) {
      const { workspaceId } = call.caller;
      const { test } = request;
      const { name, permission, limits } = readNewKey(request, clock.nowMs());
      await requireDomains(sql, workspaceId, limits.domains);
      requireNoExcess("create", { permission, test, limits }, call.caller);
      const { secret } = makeKeySecret(test);
      call.beginWrite();
      const id = makeUuid(clock.nowMs());
      const added = { id, workspaceId, name, secret, permission, test, limits, maker: makerOf(call) };
      const key = await quotas.adding(workspaceId, "keys", async (tx) => {
        await record(tx, actorOf(call.caller), keyChange("key.created", { workspaceId, id }));
        return await insertKey(tx, added);
      });
      return { key: keyOnWire(key), secret };
    },

    async listKeys(request, call) {
      const page = keysetPage(request);
      const rows = await listKeys(sql, {
        workspaceId: call.caller.workspaceId,
        before: page.before,
        limit: page.limit + 1,
      });
      const cut = cutPage(rows, page.limit);
      return { data: cut.rows.map(keyOnWire), nextPageToken: cut.nextPageToken };
    },

    async updateKey(request, call) {
      const { workspaceId } = call.caller;
      const id = idFrom(request.id);
      const change = readChange(request, clock.nowMs());
      await requireDomains(sql, workspaceId, change.limits.domains);
      call.beginWrite();
      let before: Key | undefined;
      const decide = (found: Key) => {
        before = found;
        return decideUpdate(found, change, call.caller);
      };
      const key =
        id &&
        (await audited(
          sql,
          actorOf(call.caller),
          (tx) => updateKey(tx, { workspaceId, id }, decide),
          (after) => updateEntry(before, after),
        ));
      if (!key) throw notFound("key", request.id);
      return { key: keyOnWire(key) };
    },

    async rotateKey(request, call) {
      const { workspaceId } = call.caller;
      const id = idFrom(request.id);
      const overlapMs = request.overlapSeconds === undefined ? defaultOverlapMs : request.overlapSeconds * 1000;
      const expiresAt = request.expiresAt && timestampDate(request.expiresAt);
      const problems = endProblems(expiresAt, clock.nowMs());
      if (overlapMs < 0 || overlapMs > maxOverlapMs)
        problems.push({
          field: "overlapSeconds",
          description: `must be from 0 to ${maxOverlapMs / 1000} (30 days), is ${request.overlapSeconds}`,
        });
      if (problems.length > 0) throw invalid(problems);
      if (!id || !(await getKey(sql, { workspaceId, id }))) throw notFound("key", request.id);
      const rotation = { overlapMs, expiresAt, caller: call.caller, maker: makerOf(call), nowMs: clock.nowMs() };
      let secret = "";
      const decide = (old: Rotatable) => {
        const decided = decideRotation(old, rotation);
        secret = decided.secret;
        return decided;
      };
      call.beginWrite();
      const rotated = await quotas.adding(workspaceId, "keys", async (tx) => {
        const done = await rotateKey(tx, { workspaceId, id }, decide);
        if (!done) return undefined;
        const successor = { workspaceId, id: done.key.id };
        const changes = [keyChange("key.created", successor), keyChange("key.rotated", { workspaceId, id })];
        await record(tx, actorOf(call.caller), ...changes);
        return done;
      });
      if (!rotated) throw notFound("key", request.id);
      const { key, previous } = rotated;
      const until = previous.revokedAt ? "is revoked" : `works until ${previous.expiresAt?.toISOString()}`;
      const message = `Key ${key.prefix}… replaces ${previous.prefix}…, which ${until}.`;
      return { key: keyOnWire(key), secret, previous: keyOnWire(previous), message };
    },

    async revokeKey(request, call) {
      const { workspaceId, limits, keyId, test } = call.caller;
      const id = idFrom(request.id);
      const target = id && limits && id !== keyId ? await getKey(sql, { workspaceId, id }) : undefined;
      if (target) requireCovered("revoke", target, call.caller);
      let wasRevoked = false;
      call.beginWrite();
      const key =
        id &&
        (await audited(
          sql,
          actorOf(call.caller),
          async (tx) => {
            wasRevoked = (await getKey(tx, { workspaceId, id }))?.revokedAt != null;
            return await revokeKey(tx, { workspaceId, id, testOnly: test });
          },
          (row) =>
            row && row !== "live key" && !wasRevoked ? keyChange("key.revoked", { workspaceId, id }) : undefined,
        ));
      if (!key) throw notFound("key", request.id);
      if (key === "live key") throw liveKeyByTestKey("revoke");
      return {
        key: keyOnWire(key),
        message: `Key ${key.prefix}… revoked. Every call with it is rejected from now on.`,
      };
    },
  });
}

function idFrom(id: string): string | undefined {
  if (id === "") throw invalid([{ field: "id", description: "is required: the id of a key, key_…" }]);
  return fromWireId("key", id);
}

/** Checks everything that needs no database. */
function readNewKey(
  request: CreateKeyRequest,
  nowMs: number,
): { name: string; permission: Permission; limits: KeyLimits } {
  const [name, domain] = [request.name.trim(), request.domain.trim()];
  const problems: Violation[] = nameProblems(name);
  const scopes = scopesFrom(request.scopes, problems);
  const permission = scopes ? "scoped" : permissionFrom(request.permission);
  if (scopes && request.permission !== KeyPermission.UNSPECIFIED) {
    const description = "a key has a permission or scopes, not both";
    problems.push({ field: "permission", description }, { field: "scopes", description });
  }
  if (!permission)
    problems.push({
      field: "permission",
      description: "must be KEY_PERMISSION_FULL, KEY_PERMISSION_SEND or KEY_PERMISSION_READ, unless scopes are given",
    });
  if (domain !== "" && permission && permission !== "send")
    problems.push({
      field: "domain",
      description:
        "is allowed only with KEY_PERMISSION_SEND; leave it out, or use domains for other keys that can send",
    });
  if (domain !== "" && request.domains.length > 0) {
    const description = "give domain or domains, not both";
    problems.push({ field: "domain", description }, { field: "domains", description });
  }
  const named = domain === "" ? undefined : [readDomain(domain)];
  const expiresAt = request.expiresAt && timestampDate(request.expiresAt);
  const limits: KeyLimits = {
    scopes,
    domains: named ?? readEntries("domains", request.domains, problems),
    recipients: readEntries("allowedRecipients", request.allowedRecipients, problems),
    addresses: readEntries("allowedAddresses", request.allowedAddresses, problems),
    expiresAt,
  };
  problems.push(...endProblems(expiresAt, nowMs));
  if (permission && !named) problems.push(...sendingProblems(permission, limits));
  if (!permission || problems.length > 0) throw invalid(problems);
  return { name, permission, limits };
}

function readChange(request: UpdateKeyRequest, nowMs: number): WantedChange {
  const name = request.name?.trim();
  const problems: Violation[] = name === undefined ? [] : nameProblems(name);
  const expiresAt = request.expiresAt && timestampDate(request.expiresAt);
  problems.push(...endProblems(expiresAt, nowMs));
  if (expiresAt && request.neverExpires) {
    const description = "give expiresAt or neverExpires, not both";
    problems.push({ field: "expiresAt", description }, { field: "neverExpires", description });
  }
  const limits = {
    scopes: scopesFrom(request.scopes, problems),
    domains: readEntries("domains", request.domains, problems),
    recipients: readEntries("allowedRecipients", request.allowedRecipients, problems),
    addresses: readEntries("allowedAddresses", request.allowedAddresses, problems),
    expiresAt,
  };
  if (problems.length > 0) throw invalid(problems);
  const named = {
    domains: request.domains.length > 0,
    recipients: request.allowedRecipients.length > 0,
    addresses: request.allowedAddresses.length > 0,
    expiresAt: expiresAt !== undefined || request.neverExpires,
  };
  return { name, limits, named };
}

function makerOf({ caller }: Call): { personId: string } | { keyId: string } | undefined {
  if (caller.keyId === commandKeyId) return undefined;
  return caller.person ? { personId: caller.person.id } : { keyId: caller.keyId };
}
