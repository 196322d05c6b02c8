/** Who asks, how often, and may they: judged before a body is read, the same for every protocol. */
import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { KeyPermission, policy } from "../gen/v1/options_pb.ts";
import { Problem } from "../rules/problem.ts";
import type { Permission } from "../store/keys.ts";
import type { Authenticator } from "./authenticate.ts";
import { beforeEnd, type Caller, callerOf } from "./call.ts";
import type { createRateLimit } from "./rate-limit.ts";
import { requireSaneTimeout } from "./timeout.ts";

export type GateDeps = { authenticator: Authenticator; rateLimit: ReturnType<typeof createRateLimit> };

/** A call before it is let in. */
export type Asked = {
  method: DescMethod;
  protocol: string;
  header(name: string): string | undefined;
  timeoutMs(): number | undefined;
  signal: AbortSignal;
};

export async function admit(deps: GateDeps, asked: Asked): Promise<Caller> {
  requireProtocolHeader(asked);
  requireSaneTimeout(asked);
  const key = await beforeEnd(asked.signal, deps.authenticator.authenticate(asked.header("authorization")));
  deps.rateLimit.take(key.id, performance.now());
  requirePermission(asked.method, key.permission);
  return callerOf(key);
}

/** Connect checks this only after its gate; a caller without the header must learn of it before its key is judged. */
function requireProtocolHeader({ protocol, header }: Asked): void {
  if (protocol !== "connect") return;
  const version = header("connect-protocol-version");
  if (version === "1") return;
  const found = version === undefined ? "It is missing." : `It is ${JSON.stringify(version.slice(0, 20))}.`;
  throw new Problem("invalid_argument", `The header Connect-Protocol-Version: 1 is required. ${found}`, {
    violations: [{ field: "Connect-Protocol-Version", description: "must be 1" }],
  });
}

export const permissionOnWire = {
  full: KeyPermission.FULL,
  send: KeyPermission.SEND,
  read: KeyPermission.READ,
} as const;

function requirePermission(method: DescMethod, permission: Permission): void {
  const wanted = wantedBy(method);
  if (wanted.includes(permissionOnWire[permission])) return;
  const names = Object.entries(permissionOnWire).filter(([, value]) => wanted.includes(value));
  const who =
    names.length > 0
      ? `needs a key with the permission ${names.map(([name]) => name).join(" or ")}`
      : "is for people signed in to the dashboard";
  throw new Problem("permission_denied", `${method.name} ${who}; this key has the permission ${permission}.`);
}

/** Reading an option decodes it anew each time. */
const wanted = new WeakMap<DescMethod, readonly KeyPermission[]>();

function wantedBy(method: DescMethod): readonly KeyPermission[] {
  let permissions = wanted.get(method);
  if (!permissions) {
    ({ permissions } = getOption(method, policy));
    wanted.set(method, permissions);
  }
  return permissions;
}
