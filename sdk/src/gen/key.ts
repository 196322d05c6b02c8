// Generated from the contract in proto/ by "npm run generate": the types of v1/key.proto. Do not edit.
import type { KeyPermission } from "./options.ts";

/** An API key, without its secret. */
export interface Key {
  /** Identifier of the key, `key_` and a UUID. */
  id: string;
  /** Name of the key. */
  name: string;
  /** The public prefix of the key, which identifies it without its secret. */
  prefix: string;
  /** What the key may do. */
  permission: KeyPermission;
  /** The only domain that the key may send from. Empty: any domain of the workspace. */
  domain: string;
  /** True for a test key: nothing that it sends leaves the machine, and the outcomes are simulated. */
  test: boolean;
  /** When it was created. */
  createdAt: string;
  /** When it was last used, to the minute. Absent when it was never used. */
  lastUsedAt?: string;
  /** When it was revoked. Absent while it is valid. */
  revokedAt?: string;
}

/** Request of CreateKey. */
export interface CreateKeyRequest {
  /** Display name, up to 100 characters. Required. */
  name: string;
  /** What the key may do. Required. */
  permission: KeyPermission;
  /** The only domain that a key with send permission may send from. Optional. */
  domain?: string;
  /** True: create a test key, `ph_test_...`. Default false. */
  test?: boolean;
}

/** Response of CreateKey. */
export interface CreateKeyResponse {
  /** The new key. */
  key: Key;
  /** The complete key, for the Authorization header. It is returned only in this response: store it safely. */
  secret: string;
}

/** Request of ListKeys. */
export interface ListKeysRequest {
  /** Maximum number of keys per page. 0 or unset means 20; values above 100 are reduced to 100. */
  pageSize?: number;
  /** `nextPageToken` of the previous page. Leave it empty for the first page. */
  pageToken?: string;
}

/** Response of ListKeys. */
export interface ListKeysResponse {
  /** The keys of this page, newest first. */
  data: Key[];
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** Request of RevokeKey. */
export interface RevokeKeyRequest {
  /** Id of the key. Required. */
  id: string;
}

/** Response of RevokeKey. */
export interface RevokeKeyResponse {
  /** The key after the change. */
  key: Key;
  /** Result of the call, in a sentence. */
  message: string;
}
