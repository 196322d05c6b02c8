/**
 * What the database layer knows about the API call that it works for: how long the caller waits, and how many of the call's writes are
 * committed. http/call.ts opens a scope for each call; sql.ts and group-commit.ts use it. Work of loops and commands has no scope.
 */
import { AsyncLocalStorage } from "node:async_hooks";

export type CallScope = {
  /** Committed writes of this call. */
  committed: number;
  /** Milliseconds until the caller's own deadline; undefined if it set none. */
  timeLeftMs(): number | undefined;
};

const scopes = new AsyncLocalStorage<CallScope>();

export function inCallScope<T>(scope: CallScope, work: () => T): T {
  return scopes.run(scope, work);
}

export function currentCall(): CallScope | undefined {
  return scopes.getStore();
}

/** Called after each commit. */
export function noteCommitted(): void {
  const scope = scopes.getStore();
  if (scope) scope.committed++;
}
