/** Who asks, how often, and may they: judged before a body is read, the same for every protocol. */
import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { KeyPermission, type MethodPolicy, policy } from "../gen/v1/options_pb.ts";
import { Problem } from "../rules/problem.ts";
import type { Role } from "../store/members.ts";
import type { Authenticator } from "./authenticate.ts";
import { type Caller, callerOf } from "./call.ts";
import { beforeEnd, type Life } from "./life.ts";
import type { createRateLimit } from "./rate-limit.ts";
import type { SessionCallers } from "./session-caller.ts";
import { requireSaneTimeout } from "./timeout.ts";

export type GateDeps = {
  authenticator: Authenticator;
  /** Without it, keys alone are let in. */
  sessions?: SessionCallers;
  rateLimit: ReturnType<typeof createRateLimit>;
};

/** A call before it is let in. */
export type Asked = {
  method: DescMethod;
  protocol: string;
  header(name: string): string | undefined;
  timeoutMs(): number | undefined;
  life: Life;
};

export async function admit(deps: GateDeps, asked: Asked): Promise<Caller> {
  requireProtocolHeader(asked);
  requireSaneTimeout(asked);
  const caller = await beforeEnd(asked.life, identify(deps, asked));
  deps.rateLimit.take(caller.person?.id ?? caller.keyId, performance.now());
  if (caller.person) requireRole(asked.method, caller.person.role);
  else requirePermission(asked.method, caller.permission);
  return caller;
}

/** A key wins over a cookie: whoever sends one means it. */
async function identify(deps: GateDeps, { method, header }: Asked): Promise<Caller> {
  const authorization = header("authorization");
  const person = authorization === undefined && (await deps.sessions?.identify(header, needsWorkspace(method)));
  return person || callerOf(await deps.authenticator.authenticate(authorization));
}

/** What a person does before there is a workspace to name. */
function needsWorkspace(method: DescMethod): boolean {
  return !(method.parent.name === "WorkspaceService" && /^(Create|List)Workspaces?$/.test(method.name));
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

function requirePermission(method: DescMethod, permission: Caller["permission"]): void {
  const wanted = policyOf(method).permissions;
  if (wanted.includes(permissionOnWire[permission])) return;
  const names = Object.entries(permissionOnWire).filter(([, value]) => wanted.includes(value));
  const who =
    names.length > 0
      ? `needs a key with the permission ${names.map(([name]) => name).join(" or ")}`
      : "is for people signed in to the dashboard";
  throw new Problem("permission_denied", `${method.name} ${who}; this key has the permission ${permission}.`);
}

/** A viewer may what a key with `read` may, a developer what one with `full` may, an owner everything. */
function requireRole(method: DescMethod, role: Role | undefined): void {
  if (role === undefined) return;
  const { permissions, ownerOnly } = policyOf(method);
  const read = permissions.length === 0 || permissions.includes(KeyPermission.READ);
  if (ownerOnly ? role === "owner" : role !== "viewer" || read) return;
  const who = ownerOnly ? "an owner of the workspace" : "an owner or a developer of the workspace";
  throw new Problem("permission_denied", `${method.name} is for ${who}; you are a ${role}.`);
}

/** Reading an option decodes it anew each time. */
const policies = new WeakMap<DescMethod, MethodPolicy>();

function policyOf(method: DescMethod): MethodPolicy {
  let found = policies.get(method);
  if (!found) {
    found = getOption(method, policy);
    policies.set(method, found);
  }
  return found;
}
