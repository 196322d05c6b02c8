/** The last check before a write of an API call is sent. A call may wait for a connection or in a group commit, and its deadline may pass
 * meanwhile. http/call.ts makes one check for each call; sql.ts and group-commit.ts run it once they have a connection. */
import { AsyncLocalStorage } from "node:async_hooks";

export type WriteCheck = {
  /** Throws when the call has announced a write that was not sent yet, and must not be sent any more. */
  check(): void;
  /** From now on the call waits for the result of its write, also past its deadline. */
  sent(): void;
};

const current = new AsyncLocalStorage<WriteCheck>();

export function withWriteCheck<T>(writeCheck: WriteCheck, work: () => T): T {
  return current.run(writeCheck, work);
}

/** The check of the call for which this code runs, if it runs for one. */
export function currentWriteCheck(): WriteCheck | undefined {
  return current.getStore();
}

/** Called with a connection in hand, right before the first statement is sent on it. */
export function passWriteCheck(): void {
  const writeCheck = current.getStore();
  writeCheck?.check();
  writeCheck?.sent();
}
