/** `audit` is the log of who changed what, for each workspace and for the whole service. This file writes entries in the transaction of
 * the change that they describe: neither is ever stored without the other. Every noun that people or keys can change calls it.
 * Parts: entry.ts (the words), store.ts (SQL), service.ts (AuditService). Next: entry.ts. */
import { type Caller, commandKeyId } from "../http/caller.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Actor, AuditChange } from "./entry.ts";
import { insertEntries } from "./store.ts";

export type { Actor, AuditChange } from "./entry.ts";

/** The operator's command line, and the program itself. */
export const commandLine: Actor = { kind: "command" };
export const service: Actor = { kind: "service" };

export function actorOf({ person, keyId, ...caller }: Caller): Actor {
  const address = caller.address?.();
  if (person) return { kind: "person", id: person.id, personId: person.id, address };
  if (keyId === commandKeyId) return commandLine;
  return { kind: "key", id: keyId, address };
}

const always = { receipt: "always" } as const;

/** Call this with the transaction of the change. */
export async function record(tx: Sql, actor: Actor, ...changes: AuditChange[]): Promise<void> {
  if (changes.length > 0) await insertEntries(tx, actor, changes);
}

/** Runs a change and its entry in one transaction. `describe` returns nothing if the change did not happen. Always leaves a receipt, as a
 * single statement that writes for a caller does: after a lost answer, the caller learns whether the change is stored. */
export async function audited<T>(
  sql: Sql,
  actor: Actor,
  change: (tx: Sql) => Promise<T>,
  describe: (result: T) => AuditChange | undefined,
): Promise<T> {
  return await sql.begin(async (tx) => {
    const result = await change(tx);
    const entry = describe(result);
    if (entry) await record(tx, actor, entry);
    return result;
  }, always);
}
