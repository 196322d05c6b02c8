/**
 * What the database layer knows about the API call that it works for: how long the caller waits, whether its write may still be sent, and
 * how many of its writes are committed. http/call.ts opens a scope for each call; sql.ts and group-commit.ts use it. Work of loops and
 * commands has no scope.
 */
import { AsyncLocalStorage } from "node:async_hooks";

export type CallScope = {
  /** Whose share of the database connections the call uses: its workspace. Undefined for a batch of several calls. */
  owner?: string;
  /** Committed writes of this call. */
  committed: number;
  /** Milliseconds until the caller's own deadline; undefined if it set none. */
  timeLeftMs(): number | undefined;
  /** Throws when the call has announced a write that was not sent yet, and must not be sent any more. */
  check(): void;
  /** From now on the call waits for the result of its write, also past its deadline. */
  sent(): void;
  /** The statements are done, and the commit is sent next. */
  committing?(): void;
};

const scopes = new AsyncLocalStorage<CallScope>();

export function inCallScope<T>(scope: CallScope, work: () => T): T {
  return scopes.run(scope, work);
}

/** Runs work that serves several calls, such as a batch of reads: it uses no call's share and ends with no call's deadline. */
export function outsideCalls<T>(work: () => T): T {
  return scopes.run(undefined as never, work);
}

export function currentCall(): CallScope | undefined {
  return scopes.getStore();
}

/** Called with a connection in hand, right before the first statement is sent on it: the deadline may have passed during the wait. */
export function passWriteCheck(): void {
  const scope = scopes.getStore();
  scope?.check();
  scope?.sent();
}

/** Called after each commit. */
export function noteCommitted(): void {
  const scope = scopes.getStore();
  if (scope) scope.committed++;
}

/** Called before each commit. */
export function noteCommitting(): void {
  scopes.getStore()?.committing?.();
}
