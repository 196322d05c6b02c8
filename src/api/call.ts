/** One API call as a handler sees it: who asks, until when, and under which id. Nothing of Connect in it. */
import type { FoundKey, Permission } from "../store/keys.ts";
import type { Role } from "../store/members.ts";
import { beforeEnd, type Life } from "./life.ts";

export type Caller = {
  workspaceId: string;
  /** The key's id, or the session's of a person. */
  keyId: string;
  permission: Permission;
  domain: string | undefined;
  test: boolean;
  /** Where a person asks and not a key; the role is undefined in a call that names no workspace. */
  person?: { id: string; email: string; role: Role | undefined };
};

export type Call = {
  caller: Caller;
  requestId: string;
  life: Life;
  /** Milliseconds left until the caller's own deadline, if it set one. */
  timeLeftMs(): number | undefined;
  header(name: string): string | undefined;
  /**
   * Says that the next statement writes. Before this moment a passed deadline answers `deadline_exceeded` and nothing
   * is stored; after it the commit is awaited and its true answer given.
   */
  beginWrite(): void;
};

export function callerOf(key: FoundKey): Caller {
  return {
    workspaceId: key.workspaceId,
    keyId: key.id,
    permission: key.permission,
    domain: key.domain ?? undefined,
    test: key.test,
  };
}

/** Runs a handler against the caller's deadline, honouring what `beginWrite` promised. */
export function withinDeadline<T>(call: Omit<Call, "beginWrite">, work: (call: Call) => Promise<T>): Promise<T> {
  const { caller, requestId, life, timeLeftMs, header } = call;
  requireAlive(life);
  let writing = false;
  const beginWrite = () => {
    requireAlive(life);
    writing = true;
  };
  return beforeEnd(life, work({ caller, requestId, life, timeLeftMs, header, beginWrite }), () => writing);
}

function requireAlive(life: Life): void {
  const reason = life.over();
  if (reason) throw reason;
}
