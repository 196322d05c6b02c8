/** posthorn.keys: the API keys of the workspace. */
import type { Call } from "./call.ts";
import type {
  CreateKeyRequest,
  CreateKeyResponse,
  Key,
  ListKeysRequest,
  ListKeysResponse,
  RevokeKeyResponse,
} from "./gen/key.ts";
import type { KeyPermission } from "./gen/options.ts";
import { type List, listByToken } from "./list.ts";
import type { CallOptions } from "./settings.ts";

const shortPermissions = {
  full: "KEY_PERMISSION_FULL",
  send: "KEY_PERMISSION_SEND",
  read: "KEY_PERMISSION_READ",
} as const satisfies Record<string, KeyPermission>;

/** A key to make. */
export interface CreateKey extends Omit<CreateKeyRequest, "permission"> {
  /** What the key may do: `full`, `send` or `read`, or the contract's own name for it. */
  permission: keyof typeof shortPermissions | KeyPermission;
}

export class Keys {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Makes a key. Its secret is in this answer and can never be read again. */
  async create(key: CreateKey, options?: CallOptions): Promise<CreateKeyResponse> {
    const { permission } = key;
    const full =
      permission in shortPermissions ? shortPermissions[permission as "full"] : (permission as KeyPermission);
    return await this.#call("KeyService/CreateKey", { ...key, permission: full }, options);
  }

  /** The keys, newest first, revoked ones included. */
  list(request: ListKeysRequest = {}, options?: CallOptions): List<Key, ListKeysResponse> {
    return listByToken((pageToken = request.pageToken) =>
      this.#call("KeyService/ListKeys", { ...request, pageToken }, options),
    );
  }

  /** Revokes a key at once and for good. */
  async revoke(id: string, options?: CallOptions): Promise<RevokeKeyResponse> {
    return await this.#call("KeyService/RevokeKey", { id }, options);
  }
}
