/** The last check before a write of an API call is sent. A call may wait for a connection or in a group commit, and its deadline may pass
 * meanwhile. http/call.ts opens a gate for each call; sql.ts and group-commit.ts ask it once they have a connection. */
import { AsyncLocalStorage } from "node:async_hooks";

export type WriteGate = {
  /** Throws when the call has announced a write that was not sent yet, and must not be sent any more. */
  check(): void;
  /** From now on the call waits for the result of its write, also past its deadline. */
  sent(): void;
};

const current = new AsyncLocalStorage<WriteGate>();

export function withWriteGate<T>(gate: WriteGate, work: () => T): T {
  return current.run(gate, work);
}

/** The gate of the call for which this code runs, if it runs for one. */
export function currentWriteGate(): WriteGate | undefined {
  return current.getStore();
}

/** Called with a connection in hand, right before the first statement is sent on it. */
export function passWriteGate(): void {
  const gate = current.getStore();
  gate?.check();
  gate?.sent();
}
