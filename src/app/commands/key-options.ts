/** The options of posthorn keys that describe a key, and how they are read. Used by keys.ts and keys-change.ts. */
import type { JsonObject } from "@bufbuild/protobuf";
import { type KeyLimits, type Scope, scopes } from "../../http/caller.ts";
import { type ListField, readEntries } from "../../keys/rules/settings.ts";
import type { Violation } from "../../ops/problem.ts";
import { type Option, UsageError } from "../command.ts";
import { readDuration, readMoment } from "./read-options.ts";

export const limitOptions = {
  scope: { type: "string", many: true, help: `what the key may do: ${scopes.join(", ")}; repeatable` },
  domain: { type: "string", many: true, help: "a domain that the key may send from; repeatable" },
  "allow-recipient": {
    type: "string",
    many: true,
    help: "a recipient that the key may send to: qa@example.com, example.com or *.example.com; repeatable",
  },
  "allow-address": {
    type: "string",
    many: true,
    help: "an address or range that the key may be used from: 192.0.2.7 or 198.51.100.0/24; repeatable",
  },
  expires: { type: "string", help: "when the key expires: 90d, 12h, 2027-01-31 or never" },
} satisfies Record<string, Option>;

const flagOf: Record<ListField, keyof typeof limitOptions> = {
  domains: "domain",
  allowedRecipients: "allow-recipient",
  allowedAddresses: "allow-address",
};

export type GivenLimits = {
  limits: KeyLimits;
  /** The limits that the command names, also to remove them with `any` or `never`. */
  named: { domains: boolean; recipients: boolean; addresses: boolean; expiresAt: boolean };
};

export function readKeyLimits(
  lists: Record<string, string[]>,
  expires: string | boolean | undefined,
  nowMs: number,
): GivenLimits {
  const problems: Violation[] = [];
  const read = (field: ListField) => {
    const given = lists[flagOf[field]] ?? [];
    return given.length === 1 && given[0] === "any" ? undefined : readEntries(field, given, problems);
  };
  const limits: KeyLimits = {
    scopes: readScopes(lists.scope ?? []),
    domains: read("domains"),
    recipients: read("allowedRecipients"),
    addresses: read("allowedAddresses"),
    expiresAt: typeof expires === "string" ? readEnd(expires, nowMs) : undefined,
  };
  const [problem] = problems;
  if (problem) {
    const field = problem.field.replace(/\[.*/, "") as ListField;
    throw new UsageError(`--${flagOf[field]}: ${problem.description}`);
  }
  const isNamed = (field: ListField) => (lists[flagOf[field]] ?? []).length > 0;
  const named = {
    domains: isNamed("domains"),
    recipients: isNamed("allowedRecipients"),
    addresses: isNamed("allowedAddresses"),
    expiresAt: expires !== undefined,
  };
  return { limits, named };
}

/** In UpdateKey, this list removes a limit. */
export const anyLimit = ["*"];

/** The limits as fields of CreateKey and UpdateKey. Limits that are not set are left out. */
export function limitsOnWire({ scopes, domains, recipients, addresses, expiresAt }: KeyLimits): JsonObject {
  return {
    ...(scopes && { scopes: scopes.map((scope) => `KEY_SCOPE_${scope.toUpperCase()}`) }),
    ...(domains && { domains: [...domains] }),
    ...(recipients && { allowedRecipients: [...recipients] }),
    ...(addresses && { allowedAddresses: [...addresses] }),
    ...(expiresAt && { expiresAt: expiresAt.toISOString() }),
  };
}

function readScopes(given: readonly string[]): Scope[] | undefined {
  if (given.length === 0) return undefined;
  const unknown = given.find((scope) => !scopes.includes(scope as Scope));
  if (unknown !== undefined)
    throw new UsageError(`--scope must be one of ${scopes.join(", ")}, not ${JSON.stringify(unknown)}`);
  return scopes.filter((scope) => given.includes(scope));
}

/** A duration from now, a day (its start in UTC) or a moment. Undefined: never. */
function readEnd(text: string, nowMs: number): Date | undefined {
  if (text === "never") return undefined;
  const duration = readDuration(text);
  const atMs = duration === undefined ? (readMoment(text)?.getTime() ?? Number.NaN) : nowMs + duration;
  if (Number.isNaN(atMs) || atMs > Date.parse("9999-01-01"))
    throw new UsageError(
      `--expires must be a duration such as 90d, a day such as 2027-01-31 or never, not ${JSON.stringify(text)}`,
    );
  if (atMs <= nowMs) throw new UsageError(`--expires must be in the future, not ${JSON.stringify(text)}`);
  return new Date(atMs);
}
