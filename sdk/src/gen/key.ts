// Generated from the contract in proto/ by "npm run generate": the types of v1/key.proto. Do not edit.
import type { KeyPermission, KeyScope } from "./options.ts";

/** An API key, without its secret. */
export interface Key {
  /** Identifier of the key, `key_` and a UUID. */
  id: string;
  /** Name of the key. */
  name: string;
  /** The public prefix of the key, which identifies it without its secret. */
  prefix: string;
  /** What the key may do. `KEY_PERMISSION_UNSPECIFIED` for a key with `scopes`. */
  permission: KeyPermission;
  /** The only domain that the key may send from. Empty: see `domains`. */
  domain: string;
  /** True for a test key: nothing that it sends leaves the machine, and the outcomes are simulated. */
  test: boolean;
  /** When it was created. */
  createdAt: string;
  /** When it was last used, to the minute. Absent when it was never used. */
  lastUsedAt?: string;
  /** When it was revoked. Absent while it is valid. */
  revokedAt?: string;
  /** What the key may do, if it has no permission. Empty for a key with a permission. */
  scopes: KeyScope[];
  /** The domains that the key may send from. Empty: any domain of the workspace. */
  domains: string[];
  /** The recipients that the key may send to: addresses, domains, or `*.` and a domain for its subdomains. Empty: any recipient. */
  allowedRecipients: string[];
  /** The client addresses that the key may be used from, in CIDR notation. Empty: any address. */
  allowedAddresses: string[];
  /** When the key expires. Absent for a key that does not expire. */
  expiresAt?: string;
  /** The client address of the last use. Empty when the key was never used, or not since an upgrade from an earlier version. */
  lastUsedAddress: string;
  /** Who created the key. Absent for keys created on the command line or by earlier versions. */
  maker?: KeyMaker;
  /** Id of the key that this key replaces (RotateKey). Empty: none. */
  rotatedFrom: string;
}

/** Who created a key. */
export interface KeyMaker {
  /** A person or a key. */
  kind: KeyMakerKind;
  /** Id of the person, `per_...`, or of the key, `key_...`. */
  id: string;
  /** Name of the person, or of the key. Empty for a person who has left the workspace. */
  name: string;
}

/** Request of CreateKey. */
export interface CreateKeyRequest {
  /** Display name, up to 100 characters. Required. */
  name: string;
  /** What the key may do. A key needs this or `scopes`. */
  permission?: KeyPermission;
  /** The only domain that a key with send permission may send from. Optional. `domains` allows several. */
  domain?: string;
  /** True: create a test key, `ph_test_...`. Default false. */
  test?: boolean;
  /** What the key may do, service by service. Only without `permission`. */
  scopes?: KeyScope[];
  /** The domains that the key may send from, up to 100. Empty: any domain of the workspace. */
  domains?: string[];
  /**
   * The recipients that the key may send to, up to 100: `qa@example.com`, `example.com` or `*.example.com`. A domain does not include its
   * subdomains. Empty: any recipient.
   */
  allowedRecipients?: string[];
  /** The client addresses that the key may be used from, up to 100: `192.0.2.7`, `198.51.100.0/24` or `2001:db8::/48`. Empty: any address. */
  allowedAddresses?: string[];
  /** When the key expires. Not set: never. */
  expiresAt?: Date | string;
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

/** Request of UpdateKey. */
export interface UpdateKeyRequest {
  /** Id of the key. Required. */
  id: string;
  /** The new name. Not set: unchanged. */
  name?: string;
  /** The new scopes of a key with scopes. Empty: unchanged. */
  scopes?: KeyScope[];
  /** The new sending domains. Empty: unchanged. `["*"]`: any domain. */
  domains?: string[];
  /** The new recipients that the key may send to. Empty: unchanged. `["*"]`: any recipient. */
  allowedRecipients?: string[];
  /** The new client addresses that the key may be used from. Empty: unchanged. `["*"]`: any address. */
  allowedAddresses?: string[];
  /** When the key expires. Not set: unchanged. */
  expiresAt?: Date | string;
  /** True: the key does not expire. Only without `expiresAt`. */
  neverExpires?: boolean;
}

/** Response of UpdateKey. */
export interface UpdateKeyResponse {
  /** The key after the change. */
  key: Key;
}

/** Request of RotateKey. */
export interface RotateKeyRequest {
  /** Id of the key. Required. */
  id: string;
  /** How long the old key keeps working, in seconds, up to 2592000 (30 days). Not set: 86400 (a day). 0: it is revoked at once. */
  overlapSeconds?: number;
  /** When the new key expires. Not set: after the same lifetime as the old key, or never if the old key does not expire. */
  expiresAt?: Date | string;
}

/** Response of RotateKey. */
export interface RotateKeyResponse {
  /** The new key. */
  key: Key;
  /** The complete new key, for the Authorization header. It is returned only in this response: store it safely. */
  secret: string;
  /** The old key with its new expiry. */
  previous: Key;
  /** Result of the call, in a sentence. */
  message: string;
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

/** What kind of caller created a key. */
export type KeyMakerKind =
  | "KEY_MAKER_KIND_UNSPECIFIED"
  | "KEY_MAKER_KIND_PERSON"
  | "KEY_MAKER_KIND_KEY";
