/** One API call as a handler sees it: who asks, until when, and under which id. Nothing of Connect in it. */
import { Problem } from "../rules/problem.ts";
import type { Key, Permission } from "../store/keys.ts";
import type { Role } from "../store/members.ts";

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
  signal: AbortSignal;
  /** Milliseconds left until the caller's own deadline, if it set one. */
  timeLeftMs(): number | undefined;
  header(name: string): string | undefined;
  /**
   * Says that the next statement writes. Before this moment a passed deadline answers `deadline_exceeded` and nothing
   * is stored; after it the commit is awaited and its true answer given.
   */
  beginWrite(): void;
};

export function callerOf(key: Key): Caller {
  return {
    workspaceId: key.workspaceId,
    keyId: key.id,
    permission: key.permission,
    domain: key.domain ?? undefined,
    test: key.test,
  };
}

/** Runs a handler against the caller's deadline, honouring what `beginWrite` promised. */
export async function withinDeadline<T>(call: Omit<Call, "beginWrite">, work: (call: Call) => Promise<T>): Promise<T> {
  if (call.signal.aborted) throw ended(call.signal);
  let writing = false;
  const beginWrite = () => {
    if (call.signal.aborted) throw ended(call.signal);
    writing = true;
  };
  return await beforeEnd(call.signal, work({ ...call, beginWrite }), () => writing);
}

/** The work's own answer, or the reason why nobody waits for it any more; while `always` says so, only the former. */
export async function beforeEnd<T>(signal: AbortSignal, work: Promise<T>, always = () => false): Promise<T> {
  let giveUp = () => {};
  const over = new Promise<never>((_, reject) => {
    giveUp = () => {
      if (!always()) reject(ended(signal));
    };
  });
  signal.addEventListener("abort", giveUp, { once: true });
  if (signal.aborted) giveUp();
  try {
    return await Promise.race([work, over]);
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}

/** Connect aborts with an error of its own that tells a passed deadline (code 4) from a caller that went away. */
export function ended(signal: AbortSignal): Problem {
  const code = (signal.reason as { code?: unknown } | undefined)?.code;
  if (code === 4)
    return new Problem(
      "deadline_exceeded",
      "The deadline of the call passed before it was carried out; nothing was changed. Give it more time.",
    );
  return new Problem("canceled", "The call was canceled by its caller; nothing was changed.");
}
