/** posthorn.keys: create, list, change, rotate and revoke the API keys of the workspace. */
import type { Call } from "./call.ts";
import { checkArray, checkObject } from "./check.ts";
import type {
  CreateKeyRequest,
  CreateKeyResponse,
  Key,
  ListKeysRequest,
  ListKeysResponse,
  RevokeKeyResponse,
  RotateKeyRequest,
  RotateKeyResponse,
  UpdateKeyRequest,
  UpdateKeyResponse,
} from "./gen/key.ts";
import type { KeyPermission, KeyScope } from "./gen/options.ts";
import { type List, listByToken } from "./list.ts";
import type { CallOptions } from "./settings.ts";

const shortPermissions = {
  full: "KEY_PERMISSION_FULL",
  send: "KEY_PERMISSION_SEND",
  read: "KEY_PERMISSION_READ",
} as const satisfies Record<string, KeyPermission>;

const shortScopes = {
  send: "KEY_SCOPE_SEND",
  emails: "KEY_SCOPE_EMAILS",
  events: "KEY_SCOPE_EVENTS",
  inbound: "KEY_SCOPE_INBOUND",
  domains: "KEY_SCOPE_DOMAINS",
  webhooks: "KEY_SCOPE_WEBHOOKS",
  suppressions: "KEY_SCOPE_SUPPRESSIONS",
  stats: "KEY_SCOPE_STATS",
  audit: "KEY_SCOPE_AUDIT",
  manage: "KEY_SCOPE_MANAGE",
} as const satisfies Record<string, KeyScope>;

/** `send`, `emails` and so on, or a value of KeyScope. */
export type KeyScopeName = keyof typeof shortScopes | KeyScope;

/** A key to create: with a permission or with scopes. */
export interface CreateKey extends Omit<CreateKeyRequest, "permission" | "scopes"> {
  /** What the key may do: `full`, `send` or `read`, or a value of KeyPermission. */
  permission?: keyof typeof shortPermissions | KeyPermission;
  /** What the key may do, service by service. Only without `permission`. */
  scopes?: KeyScopeName[];
}

/** What to change. Fields that are not set stay. `["*"]` removes a limit. */
export interface UpdateKey extends Omit<UpdateKeyRequest, "id" | "scopes"> {
  /** The new scopes of a key with scopes. */
  scopes?: KeyScopeName[];
}

export class Keys {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Creates a key. Only this response contains its secret. */
  async create(key: CreateKey, options?: CallOptions): Promise<CreateKeyResponse> {
    checkObject(key, "key", 'must be an object, such as { name: "worker", permission: "send" }');
    const { permission, scopes, ...rest } = key;
    const full = permission === undefined ? undefined : fullName(shortPermissions, permission);
    return await this.#call("KeyService/CreateKey", { ...rest, permission: full, scopes: fullScopes(scopes) }, options);
  }

  /** Lists the keys, newest first, including revoked and expired ones. */
  list(request: ListKeysRequest = {}, options?: CallOptions): List<Key, ListKeysResponse> {
    return listByToken(request, (page) => this.#call("KeyService/ListKeys", page, options));
  }

  /** Changes the name, the end and the limits of a key. */
  async update(id: string, change: UpdateKey, options?: CallOptions): Promise<UpdateKeyResponse> {
    checkObject(change, "change");
    return await this.#call("KeyService/UpdateKey", { ...change, id, scopes: fullScopes(change.scopes) }, options);
  }

  /** Replaces a key. Both keys work until the end of the overlap, a day by default. Only this response contains the new secret. */
  async rotate(
    id: string,
    request: Omit<RotateKeyRequest, "id"> = {},
    options?: CallOptions,
  ): Promise<RotateKeyResponse> {
    return await this.#call("KeyService/RotateKey", { ...request, id }, options);
  }

  /** Revokes a key immediately and permanently. */
  async revoke(id: string, options?: CallOptions): Promise<RevokeKeyResponse> {
    return await this.#call("KeyService/RevokeKey", { id }, options);
  }
}

function fullScopes(scopes: readonly KeyScopeName[] | undefined): KeyScope[] | undefined {
  if (scopes !== undefined) checkArray(scopes, "scopes", 'must be an array, such as ["send", "events"]');
  return scopes?.map((scope) => fullName(shortScopes, scope));
}

function fullName<Full extends string>(names: Record<string, Full>, name: string): Full {
  return names[name] ?? (name as Full);
}
