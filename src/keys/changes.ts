/** Decides whether a key may be created, changed, rotated or revoked, and what it has afterwards. Called by service.ts. The command line is a
 * caller without limits. */
import type { AuditAction, AuditChange } from "../audit/entry.ts";
import type { Caller, KeyLimits, Permission } from "../http/caller.ts";
import { invalid, Problem, type Violation } from "../ops/problem.ts";
import { makeUuid, toWireId } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import { excessOf, keyCanSend, type Power } from "./rules/covers.ts";
import { renewedEnd } from "./rules/settings.ts";
import type { KeyChange, Rotatable, Rotation } from "./store/changes.ts";
import { configuredKeyName, foreignDomains, type Key, keyLimitsOf, makeKeySecret } from "./store.ts";

/** What to change. A limit that the request does not name stays. */
export type WantedChange = {
  name: string | undefined;
  limits: KeyLimits;
  named: { domains: boolean; recipients: boolean; addresses: boolean; expiresAt: boolean };
};

/** The entry of the audit log for a change of a key. */
export function keyChange(
  action: AuditAction,
  { workspaceId, id }: { workspaceId: string; id: string },
  fields?: string[],
): AuditChange {
  return { action, workspaceId, target: { kind: "key", id }, fields };
}

/** The names of the fields in which two states of a key differ, as the API spells them. */
export function changedFields(before: Key, after: Key): string[] {
  const fields = {
    name: "name",
    scopes: "scopes",
    domains: "domains",
    recipients: "allowedRecipients",
    addresses: "allowedAddresses",
    expiresAt: "expiresAt",
  } as const;
  return Object.entries(fields).flatMap(([column, field]) => {
    const [old, now] = [before, after].map((key) => JSON.stringify(key[column as keyof typeof fields]));
    return old === now ? [] : [field];
  });
}

/** The entry of the audit log for an update, unless it changed nothing. */
export function updateEntry(before: Key | undefined, after: Key | undefined): AuditChange | undefined {
  const fields = before && after ? changedFields(before, after) : [];
  return after && fields.length > 0 ? keyChange("key.updated", after, fields) : undefined;
}

export function decideUpdate(before: Key, change: WantedChange, caller: Caller): KeyChange {
  const { name = before.name, limits: wanted, named } = change;
  requireCovered("update", before, caller);
  if (before.revokedAt) throw new Problem("failed_precondition", "This key is revoked. Create a new one.");
  if (before.name === configuredKeyName && name !== before.name)
    throw new Problem(
      "failed_precondition",
      "This key comes from the setting POSTHORN_API_KEY, which finds it by its name. Keep the name.",
    );
  if (wanted.scopes && before.permission !== "scoped")
    throw invalid([{ field: "scopes", description: `this key has the permission ${before.permission}, which stays` }]);
  const old = keyLimitsOf(before) ?? {};
  const limits: KeyLimits = {
    scopes: wanted.scopes ?? old.scopes,
    domains: named.domains ? wanted.domains : old.domains,
    recipients: named.recipients ? wanted.recipients : old.recipients,
    addresses: named.addresses ? wanted.addresses : old.addresses,
    expiresAt: named.expiresAt ? wanted.expiresAt : old.expiresAt,
  };
  const problems = sendingProblems(before.permission, limits);
  if (problems.length > 0) throw invalid(problems);
  requireNoExcess("create", { ...before, limits }, caller);
  return { name, limits };
}

export type WantedRotation = {
  overlapMs: number;
  expiresAt: Date | undefined;
  caller: Caller;
  maker: Rotation["maker"];
  nowMs: number;
};

/** Without an expiry in the request, a caller that expires limits the new key to its own expiry. */
export function decideRotation(
  old: Rotatable,
  { overlapMs, caller, maker, nowMs, ...wanted }: WantedRotation,
): Rotation {
  requireCovered("rotate", old, caller);
  requireRotatable(old);
  const expiresAt = wanted.expiresAt ?? earlier(renewedEnd(old, nowMs), caller.limits?.expiresAt);
  requireNoExcess("create", { ...old, limits: { ...keyLimitsOf(old), expiresAt } }, caller);
  return { id: makeUuid(nowMs), secret: makeKeySecret(old.test).secret, overlapMs, expiresAt, maker };
}

function requireRotatable(old: Rotatable): void {
  const problem = (text: string) => new Problem("failed_precondition", text);
  if (old.name === configuredKeyName)
    throw problem("This key comes from the setting POSTHORN_API_KEY. Change the setting and restart to replace it.");
  if (old.revokedAt) throw problem("This key is revoked. Create a new one.");
  if (old.expired) throw problem("This key has expired. Create a new one.");
  if (old.replacedBy)
    throw problem(
      `This key was already rotated: ${toWireId("key", old.replacedBy)} replaces it. If you have lost the secret of that one, revoke it first.`,
    );
}

/** Limits on sending for a key that cannot send are a mistake. */
export function sendingProblems(permission: Permission, limits: KeyLimits): Violation[] {
  if (keyCanSend({ permission, limits })) return [];
  const description = "is allowed only for a key that can send";
  return [
    ...(limits.domains ? [{ field: "domains", description }] : []),
    ...(limits.recipients ? [{ field: "allowedRecipients", description }] : []),
  ];
}

export async function requireDomains(sql: Sql, workspaceId: string, domains: readonly string[] = []): Promise<void> {
  const [foreign] = domains.length === 0 ? [] : await foreignDomains(sql, workspaceId, domains);
  if (foreign !== undefined)
    throw new Problem(
      "failed_precondition",
      `${JSON.stringify(foreign)} is not a domain of this workspace. Add it with AddDomain first.`,
    );
}

export type Act = "create" | "update" | "rotate" | "revoke";

/** The key must not be one that may do more than the caller's key. */
export function requireCovered(act: Act, key: Key, caller: Caller): void {
  requireNoExcess(act, { ...key, limits: keyLimitsOf(key) }, caller);
}

/** A limited key that could create or change keys without its limits would have none. People have no limits. */
export function requireNoExcess(act: Act, { permission, test, limits }: Power, caller: Caller): void {
  if (caller.person) return;
  if (caller.test && !test) throw liveKeyByTestKey(act);
  const excess = excessOf({ permission, test, limits }, caller);
  if (!excess) return;
  const what =
    act === "create" ? "give a key more rights than it has itself" : `${act} a key with more rights than it has`;
  throw new Problem(
    "permission_denied",
    `This key cannot ${what}: ${excess}. Use a key with more rights, the dashboard or: posthorn keys ${act}`,
  );
}

/** A test key sends nothing. If it could create, change or rotate a live key, everyone who has it could send. */
export function liveKeyByTestKey(act: Act): Problem {
  const fix =
    act === "create"
      ? "Set test to true, or create the key with a live key, in the dashboard or with: posthorn keys create"
      : `Use a live key with the permission full, the dashboard or: posthorn keys ${act}`;
  return new Problem("permission_denied", `A test key can ${act} only test keys. ${fix}`);
}

function earlier(one: Date | undefined, other: Date | undefined): Date | undefined {
  return one && other ? (one < other ? one : other) : (one ?? other);
}
