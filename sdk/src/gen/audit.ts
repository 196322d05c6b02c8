// Generated from the contract in proto/ by "npm run generate": the types of v1/audit.proto. Do not edit.
/** One change. */
export interface AuditEntry {
  /** Identifier of the entry. */
  id: string;
  /** When it happened. */
  at: string;
  /** Who made the change. */
  actor: AuditActor;
  /** Id of the person or the key. Empty for other actors. */
  actorId: string;
  /** Name of the person or the key, as it is now. Empty when it was deleted. Not part of the stored entry. */
  actorName: string;
  /** What happened: a noun and a verb, such as `key.created`. */
  action: string;
  /** Id of the changed object. Empty where the action has none. */
  targetId: string;
  /** Names of the changed fields. */
  fields: string[];
  /** Why something was refused, as a constant such as `wrong_code`. Empty for changes. */
  reason: string;
  /** The client's address; for sign-ins over IPv6 its /64 network. Empty for the command line and the program, and once the person was deleted. */
  address: string;
  /** Id of the workspace. Empty for a change that concerns the whole service. */
  workspaceId: string;
}

/** Which entries to return. */
export interface AuditFilter {
  /** Only changes by this person or key, `per_...` or `key_...`. */
  actorId?: string;
  /** Only changes to the object with this id. */
  targetId?: string;
  /** Only this action, such as `key.created`, or all actions of a noun, such as `key`. */
  action?: string;
  /** Only entries from this time on. */
  from?: Date | string;
  /** Only entries before this time. */
  to?: Date | string;
}

/** Request of ListAuditEntries. */
export interface ListAuditEntriesRequest {
  /** Which entries to return. Unset: all. */
  filter?: AuditFilter;
  /** Maximum number of entries per page. 0 or unset means 20; values above 100 are reduced to 100. */
  pageSize?: number;
  /** `nextPageToken` of the previous page. Leave it empty for the first page. */
  pageToken?: string;
}

/** Response of ListAuditEntries. */
export interface ListAuditEntriesResponse {
  /** The entries of this page, newest first. */
  data: AuditEntry[];
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** Request of ExportAuditEntries. */
export interface ExportAuditEntriesRequest {
  /** Which entries to return. Unset: all. */
  filter?: AuditFilter;
  /** `nextPageToken` of the previous page. Leave it empty for the first page. */
  pageToken?: string;
}

/** Response of ExportAuditEntries. */
export interface ExportAuditEntriesResponse {
  /** The entries of this page, one JSON object per line. */
  jsonLines: string;
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** Who made a change. */
export type AuditActor =
  | "AUDIT_ACTOR_UNSPECIFIED"
  | "AUDIT_ACTOR_PERSON"
  | "AUDIT_ACTOR_KEY"
  | "AUDIT_ACTOR_COMMAND"
  | "AUDIT_ACTOR_SERVICE"
  | "AUDIT_ACTOR_STRANGER";
