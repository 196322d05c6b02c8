// Generated from the contract in proto/ by "npm run generate": the types of v1/options.proto. Do not edit.
/** What a key may do. A key has exactly one permission, or scopes in place of it. */
export type KeyPermission =
  | "KEY_PERMISSION_UNSPECIFIED"
  | "KEY_PERMISSION_FULL"
  | "KEY_PERMISSION_SEND"
  | "KEY_PERMISSION_READ";

/** A group of methods that a key with scopes may call. Each method names the scopes that allow it. */
export type KeyScope =
  | "KEY_SCOPE_UNSPECIFIED"
  | "KEY_SCOPE_SEND"
  | "KEY_SCOPE_EMAILS"
  | "KEY_SCOPE_EVENTS"
  | "KEY_SCOPE_INBOUND"
  | "KEY_SCOPE_DOMAINS"
  | "KEY_SCOPE_WEBHOOKS"
  | "KEY_SCOPE_SUPPRESSIONS"
  | "KEY_SCOPE_STATS"
  | "KEY_SCOPE_AUDIT"
  | "KEY_SCOPE_MANAGE";
