/** Converts keys between the contract's messages and rows, for KeyService. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { KeyMakerKind } from "../gen/v1/key_pb.ts";
import { KeyPermission, type KeyScope } from "../gen/v1/options_pb.ts";
import { type Permission, type Scope, scopes } from "../http/caller.ts";
import { permissionOnWire, scopeOnWire } from "../http/gate.ts";
import type { Violation } from "../ops/problem.ts";
import { toWireId } from "../postgres/ids.ts";
import type { Key } from "./store.ts";

export function keyOnWire(key: Key) {
  const domains = key.domains ?? [];
  return {
    id: toWireId("key", key.id),
    name: key.name,
    prefix: key.prefix,
    permission: permissionOnWire[key.permission],
    scopes: (key.scopes ?? []).map((scope) => scopeOnWire[scope]),
    domain: domains.length === 1 ? domains[0]! : "",
    domains,
    allowedRecipients: key.recipients ?? [],
    allowedAddresses: key.addresses ?? [],
    test: key.test,
    createdAt: timestampFromDate(key.createdAt),
    lastUsedAt: key.lastUsedAt ? timestampFromDate(key.lastUsedAt) : undefined,
    lastUsedAddress: key.lastUsedAddress ?? "",
    revokedAt: key.revokedAt ? timestampFromDate(key.revokedAt) : undefined,
    expiresAt: key.expiresAt ? timestampFromDate(key.expiresAt) : undefined,
    maker: makerOnWire(key),
    rotatedFrom: key.rotatedFrom ? toWireId("key", key.rotatedFrom) : "",
  };
}

function makerOnWire({ makerPersonId, makerKeyId, makerName }: Key) {
  const name = makerName ?? "";
  if (makerPersonId) return { kind: KeyMakerKind.PERSON, id: toWireId("person", makerPersonId), name };
  return makerKeyId ? { kind: KeyMakerKind.KEY, id: toWireId("key", makerKeyId), name } : undefined;
}

export function permissionFrom(value: KeyPermission): Exclude<Permission, "scoped"> | undefined {
  if (value === KeyPermission.FULL) return "full";
  if (value === KeyPermission.SEND) return "send";
  return value === KeyPermission.READ ? "read" : undefined;
}

/** Undefined for an empty list. Adds unknown scopes to `problems`. */
export function scopesFrom(values: readonly KeyScope[], problems: Violation[]): Scope[] | undefined {
  if (values.length === 0) return undefined;
  for (const [i, value] of values.entries())
    if (!scopes.some((scope) => scopeOnWire[scope] === value))
      problems.push({
        field: `scopes[${i}]`,
        description: `must be one of ${scopes.map((scope) => `KEY_SCOPE_${scope.toUpperCase()}`).join(", ")}`,
      });
  // In the order of the contract, so that equal lists have equal texts.
  return scopes.filter((scope) => values.includes(scopeOnWire[scope]));
}
