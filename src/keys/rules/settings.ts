/** Reads the settings of a key: its name, its lists of limits and its expiry. Called by ../service.ts, ../changes.ts and the commands. */
import { readAddressDomain } from "../../mail/address-domain.ts";
import type { Violation } from "../../ops/problem.ts";
import { readRange } from "./addresses.ts";
import { readRecipientRule } from "./recipients.ts";

const maxNameLength = 100;
const maxEntries = 100;

export const dayMs = 86_400_000;
export const defaultOverlapMs = dayMs;
export const maxOverlapMs = 30 * dayMs;

export function nameProblems(name: string): Violation[] {
  const problems: Violation[] = [];
  if (name === "" || name.length > maxNameLength)
    problems.push({ field: "name", description: `must have 1 to ${maxNameLength} characters, has ${name.length}` });
  if (/\p{Cc}/u.test(name)) problems.push({ field: "name", description: "must not contain control characters" });
  return problems;
}

export type ListField = "domains" | "allowedRecipients" | "allowedAddresses";

/** The entries in their normal form, without repetitions. Undefined: no limit. Adds what is wrong to `problems`. */
export function readEntries(
  field: ListField,
  entries: readonly string[],
  problems: Violation[],
): readonly string[] | undefined {
  if (entries.length === 0 || (entries.length === 1 && entries[0] === "*")) return undefined;
  if (entries.length > maxEntries)
    problems.push({ field, description: `has ${entries.length} entries, at most ${maxEntries} are allowed` });
  const read = entries.slice(0, maxEntries).map((entry, i) => {
    const result = readers[field](entry.trim());
    if (result.ok) return result.text;
    problems.push({ field: `${field}[${i}]`, description: `${JSON.stringify(entry.slice(0, 100))}: ${result.reason}` });
    return entry;
  });
  return [...new Set(read)];
}

type Read = { ok: true; text: string } | { ok: false; reason: string };

const readers: Record<ListField, (entry: string) => Read> = {
  domains: (entry) => ({ ok: true, text: readDomain(entry) }),
  allowedRecipients(entry) {
    const read = readRecipientRule(entry);
    return read.ok ? { ok: true, text: read.rule } : read;
  },
  allowedAddresses(entry) {
    const read = readRange(entry);
    return read.ok ? { ok: true, text: read.range } : read;
  },
};

/** In the form in which domains are stored. A malformed name is no domain of the workspace, which the caller checks. */
export function readDomain(text: string): string {
  const name = text.trim().toLowerCase().replace(/\.$/, "");
  const read = readAddressDomain(name);
  return read.ok ? read.domain : name;
}

/** Times on the wire end with the year 9999. The last year is left out, so that an end can be added to. */
const lastEndMs = Date.UTC(9999, 0, 1);

export function endProblems(expiresAt: Date | undefined, nowMs: number): Violation[] {
  if (!expiresAt) return [];
  const ms = expiresAt.getTime();
  if (!(ms < lastEndMs))
    return [
      { field: "expiresAt", description: "must be before the year 9999; leave it out for a key that does not expire" },
    ];
  if (ms > nowMs) return [];
  return [{ field: "expiresAt", description: `must be in the future, is ${expiresAt.toISOString()}` }];
}

/** The end of the key that replaces another: after the same time as the replaced key had from its creation on. */
export function renewedEnd(key: { createdAt: Date; expiresAt: Date | null }, nowMs: number): Date | undefined {
  if (!key.expiresAt) return undefined;
  return new Date(Math.min(nowMs + key.expiresAt.getTime() - key.createdAt.getTime(), lastEndMs - 1));
}
