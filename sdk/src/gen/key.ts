// Generated from the contract in proto/ by "npm run generate": the types of v1/key.proto. Not to be edited.
import type { KeyPermission } from "./options.ts";

/** An API key, without its secret. */
export interface Key {
  /** Identifier of the key, `key_` and a UUID. */
  id: string;
  /** Name given by whoever created it. */
  name: string;
  /** The public beginning of the key, by which it can be recognised. */
  prefix: string;
  /** What it may do. */
  permission: KeyPermission;
  /** The one domain that it may send from. Empty: any domain of the workspace. */
  domain: string;
  /** True for a test key: nothing that it sends leaves the machine, and outcomes are simulated. */
  test: boolean;
  /** When it was created. */
  createdAt: string;
  /** When it was last used, to the minute. Absent when it never was. */
  lastUsedAt?: string;
  /** When it was revoked. Absent while it is valid. */
  revokedAt?: string;
}

/** Request of CreateKey. */
export interface CreateKeyRequest {
  /** A name for people, up to 100 characters. Required. */
  name: string;
  /** What the key may do. Required. */
  permission: KeyPermission;
  /** The one domain that a key with send permission may send from. Optional. */
  domain?: string;
  /** True: make a test key, `ph_test_...`. Default false. */
  test?: boolean;
}

/** Response of CreateKey. */
export interface CreateKeyResponse {
  /** The new key. */
  key: Key;
  /** The whole key, for the Authorization header. It is shown only here: keep it. */
  secret: string;
}

/** Request of ListKeys. */
export interface ListKeysRequest {
  /** Keys in a page. 0 or unset is 20; more than 100 is served as 100. */
  pageSize?: number;
  /** `nextPageToken` of the page before. Empty: the first page. */
  pageToken?: string;
}

/** Response of ListKeys. */
export interface ListKeysResponse {
  /** The keys of this page, newest first. */
  data: Key[];
  /** Pass as `pageToken` for the next page. Empty: this is the last page. */
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
  /** What was done. */
  message: string;
}
