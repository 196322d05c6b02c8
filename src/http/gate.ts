/** Authenticates, rate-limits and authorizes every call before its body is read, in the same way for every protocol. Called by router.ts
 * and unary-json.ts. */
import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { KeyPermission, KeyScope, type MethodPolicy, policy } from "../gen/v1/options_pb.ts";
import { Problem } from "../ops/problem.ts";
import type { LeasedTokens } from "../shares/leased-tokens.ts";
import { createTokenBuckets } from "../shares/token-bucket.ts";
import { type Cancellation, unlessCanceled } from "./call.ts";
import { ownerOf } from "./call-shares.ts";
import { type Caller, type Role, type Scope, scopes } from "./caller.ts";
import { requireFresh, requireSecondFactor } from "./proof.ts";
import { requireSaneTimeout } from "./timeout.ts";

/** Identifies a caller by its Authorization header; throws `unauthenticated` when the header holds no valid key, and `permission_denied`
 * when the key may not be used from the client's address. */
export type Authenticator = { authenticate(authorization: string | undefined, address: () => string): Promise<Caller> };

export type SessionCallers = {
  /** Undefined when the request carries no session cookie. */
  identify(header: (name: string) => string | undefined, needsWorkspace: boolean): Promise<Caller | undefined>;
};

/** Counts one call of a workspace; throws with the time to wait when the rate limit is reached. */
export type CallLimit = { take(owner: string, nowMs: number): void | Promise<void> };
export type Rate = { perSecond: number; burst: number };

export type GateDeps = {
  authenticator: Authenticator;
  /** Without it, the gate accepts keys only. */
  sessions?: SessionCallers;
  callLimit: CallLimit;
};

/** What the gate knows of a call before it admits it. */
export type GateRequest = {
  method: DescMethod;
  protocol: string;
  header(name: string): string | undefined;
  /** The client's address. */
  address(): string;
  timeoutMs(): number | undefined;
  cancellation: Cancellation;
  /** Called as soon as the caller is known, also if the call is refused afterwards. */
  onCaller?(caller: Caller): void;
};

export async function admit(deps: GateDeps, request: GateRequest): Promise<Caller> {
  requireProtocolHeader(request);
  requireSaneTimeout(request);
  const caller = await unlessCanceled(request.cancellation, identify(deps, request));
  caller.address = request.address;
  request.onCaller?.(caller);
  const counting = deps.callLimit.take(ownerOf(caller), performance.now());
  if (counting) await unlessCanceled(request.cancellation, counting);
  if (policyOf(request.method).operatorOnly) requireOperator(request.method, caller);
  else if (caller.person) requirePerson(request.method, caller.person);
  else requirePermission(request.method, caller);
  return caller;
}

/** A key takes precedence over a session cookie, because a client sends a key only on purpose. */
async function identify(deps: GateDeps, { method, header, address }: GateRequest): Promise<Caller> {
  const authorization = header("authorization");
  const person = authorization === undefined && (await deps.sessions?.identify(header, needsWorkspace(method)));
  return person || (await deps.authenticator.authenticate(authorization, address));
}

function requirePerson(method: DescMethod, { role, proof }: NonNullable<Caller["person"]>): void {
  // A person who must add a second factor first can still see which workspaces there are.
  if (`${method.parent.name}/${method.name}` !== "WorkspaceService/ListWorkspaces") requireSecondFactor(proof);
  requireRole(method, role);
  if (policyOf(method).fresh) requireFresh(proof);
}

/** CreateWorkspace and ListWorkspaces work before the person has a workspace to name. Operators' methods belong to no workspace. */
function needsWorkspace(method: DescMethod): boolean {
  if (policyOf(method).operatorOnly) return false;
  return !(method.parent.name === "WorkspaceService" && /^(Create|List)Workspaces?$/.test(method.name));
}

/** Connect checks this only after the gate. A caller without the header gets this error before its key is checked. */
function requireProtocolHeader({ protocol, header }: GateRequest): void {
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
  scoped: KeyPermission.UNSPECIFIED,
} as const;

export const scopeOnWire: Readonly<Record<Scope, KeyScope>> = {
  send: KeyScope.SEND,
  emails: KeyScope.EMAILS,
  events: KeyScope.EVENTS,
  inbound: KeyScope.INBOUND,
  domains: KeyScope.DOMAINS,
  webhooks: KeyScope.WEBHOOKS,
  suppressions: KeyScope.SUPPRESSIONS,
  stats: KeyScope.STATS,
  audit: KeyScope.AUDIT,
  manage: KeyScope.MANAGE,
};

function requirePermission(method: DescMethod, { permission, limits }: Caller): void {
  const allowed = policyOf(method);
  const own = limits?.scopes ?? [];
  const isAllowed =
    permission === "scoped"
      ? own.some((scope) => allowed.scopes.includes(scopeOnWire[scope]))
      : allowed.permissions.includes(permissionOnWire[permission]);
  if (isAllowed) return;
  const permissions = (["full", "send", "read"] as const).filter((one) =>
    allowed.permissions.includes(permissionOnWire[one]),
  );
  const enough = scopes.filter((scope) => allowed.scopes.includes(scopeOnWire[scope]));
  const requirement =
    permissions.length > 0
      ? `needs a key with the permission ${permissions.join(" or ")}, or with the scope ${enough.join(" or ")}`
      : "needs a person who is signed in to the dashboard";
  const found = permission === "scoped" ? `the scopes ${own.join(", ")}` : `the permission ${permission}`;
  throw new Problem("permission_denied", `${method.name} ${requirement}; this key has ${found}.`);
}

/** A viewer has the permissions of a `read` key, a developer those of a `full` key, an owner all. */
function requireRole(method: DescMethod, role: Role | undefined): void {
  if (role === undefined) return;
  const { permissions, ownerOnly } = policyOf(method);
  const read = permissions.length === 0 || permissions.includes(KeyPermission.READ);
  if (ownerOnly ? role === "owner" : role !== "viewer" || read) return;
  const allowed = ownerOnly ? "an owner of the workspace" : "an owner or a developer of the workspace";
  throw new Problem("permission_denied", `${method.name} needs ${allowed}; you are a ${role}.`);
}

function requireOperator(method: DescMethod, { person }: Caller): void {
  const { name } = method;
  if (person?.isOperator) {
    if (policyOf(method).fresh) requireFresh(person.proof);
    return;
  }
  throw new Problem(
    "permission_denied",
    person?.lacksSecondFactor
      ? `${name} needs a session with a second factor. Sign out, then sign in with yours.`
      : `${name} needs an operator of this service. An operator is appointed with: posthorn people operator EMAIL`,
  );
}

/** A cache: getOption decodes the option on every call. */
const policies = new WeakMap<DescMethod, MethodPolicy>();

function policyOf(method: DescMethod): MethodPolicy {
  let found = policies.get(method);
  if (!found) {
    found = getOption(method, policy);
    policies.set(method, found);
  }
  return found;
}

/** As token buckets. */
export const callBuckets = ({ perSecond, burst }: Rate) => ({ burst, periodMs: 1000 / perSecond, maxKeys: 10_000 });

/** The rate limit of a workspace, or of a person who has not named one: `burst` calls at once, then `perSecond`. `leased`: the limit holds for
 * several processes together. */
export function createCallLimit({ perSecond, burst }: Rate, leased?: Pick<LeasedTokens, "take">): CallLimit {
  const buckets = leased ? undefined : createTokenBuckets(callBuckets({ perSecond, burst }));
  const judge = (waitMs: number) => {
    if (waitMs === 0) return;
    throw new Problem(
      "resource_exhausted",
      `The rate limit of this workspace, ${perSecond} requests per second (burst ${burst}), is exceeded. Try again in ${waitMs} ms.`,
      { retryAfterMs: waitMs },
    );
  };
  return {
    take(owner, nowMs) {
      const waitMs = buckets ? buckets.take(owner, nowMs).waitMs : leased!.take(owner, nowMs);
      return typeof waitMs === "number" ? judge(waitMs) : waitMs.then(judge);
    },
  };
}
