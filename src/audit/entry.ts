/** The words of the audit log: who acts, and what a change consists of. Used by record.ts and store.ts. */
import type { IdKind } from "../postgres/ids.ts";

export const actorKinds = ["person", "key", "command", "service", "stranger"] as const;

/** Who acts. `command` is the operator's command line, `service` the program itself, and `stranger` a client that has not signed in, such
 * as one with a wrong password. */
export type Actor = {
  kind: (typeof actorKinds)[number];
  id?: string;
  /** The person with whom the address is deleted: the actor, the maker of the key, or the person that a stranger claims to be. */
  personId?: string;
  address?: string;
};

/** A noun and a verb in the past tense, such as `key.created`. */
export type AuditAction = `${string}.${string}`;

/** One change. Contains ids and names of fields only: names of people, email addresses and mail stay out of this log. */
export type AuditChange = {
  action: AuditAction;
  /** Missing for a change that concerns the whole service. */
  workspaceId?: string;
  target?: { kind: IdKind; id: string };
  /** Names of the changed fields, as the API spells them. */
  fields?: readonly string[];
  /** Why something was refused, as a constant. */
  reason?: string;
};

export type AuditEntry = {
  id: string;
  workspaceId: string | null;
  at: Date;
  actor: Actor["kind"];
  actorId: string | null;
  /** Of a key, of a member of the workspace, or for the whole service of any person; null for others. Not stored in the entry. */
  actorName: string | null;
  action: string;
  target: IdKind | null;
  targetId: string | null;
  fields: string[];
  reason: string | null;
  /** Null once the person was deleted. */
  address: string | null;
};
