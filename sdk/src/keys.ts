/** posthorn.keys: create, list and revoke the API keys of the workspace. */
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

/** A key to create. */
export interface CreateKey extends Omit<CreateKeyRequest, "permission"> {
  /** What the key may do: `full`, `send` or `read`, or a value of KeyPermission. */
  permission: keyof typeof shortPermissions | KeyPermission;
}

export class Keys {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Creates a key. Only this response contains its secret. */
  async create(key: CreateKey, options?: CallOptions): Promise<CreateKeyResponse> {
    const { permission } = key;
    const full =
      permission in shortPermissions ? shortPermissions[permission as "full"] : (permission as KeyPermission);
    return await this.#call("KeyService/CreateKey", { ...key, permission: full }, options);
  }

  /** Lists the keys, newest first, including revoked ones. */
  list(request: ListKeysRequest = {}, options?: CallOptions): List<Key, ListKeysResponse> {
    return listByToken((pageToken = request.pageToken) =>
      this.#call("KeyService/ListKeys", { ...request, pageToken }, options),
    );
  }

  /** Revokes a key immediately and permanently. */
  async revoke(id: string, options?: CallOptions): Promise<RevokeKeyResponse> {
    return await this.#call("KeyService/RevokeKey", { id }, options);
  }
}
