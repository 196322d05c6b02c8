// Generated from the contract in proto/ by "npm run generate": the types of v1/options.proto. Do not edit.
/** What a key may do. A key has exactly one permission. */
export type KeyPermission =
  | "KEY_PERMISSION_UNSPECIFIED"
  | "KEY_PERMISSION_FULL"
  | "KEY_PERMISSION_SEND"
  | "KEY_PERMISSION_READ";
