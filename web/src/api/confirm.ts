/** Asks the person to confirm who they are, for calls that need a recent proof. people/identity-dialog.tsx shows the dialog. */
import { useSyncExternalStore } from "react";

/** Ends the question: true after the person has confirmed. */
type Finish = (isConfirmed: boolean) => void;

let asking: { answer: Promise<boolean>; finish: Finish } | undefined;
const listeners = new Set<() => void>();

/** Runs a call, and once more if it needs a confirmation and the person gives it. Otherwise the first error remains. */
export async function repeatAfterConfirmation<T>(
  call: () => Promise<T>,
  needsConfirmation: (error: unknown) => boolean,
): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!needsConfirmation(error) || !(await confirmIdentity())) throw error;
    return await call();
  }
}

/** Calls that ask at the same time share one dialog. */
export function confirmIdentity(): Promise<boolean> {
  if (asking) return asking.answer;
  let settle: Finish = () => {};
  const answer = new Promise<boolean>((resolve) => {
    settle = resolve;
  });
  const finish = (isConfirmed: boolean) => {
    asking = undefined;
    notify();
    settle(isConfirmed);
  };
  asking = { answer, finish };
  notify();
  return answer;
}

/** How to end the open question; undefined while there is none. */
export function useConfirmation(): Finish | undefined {
  return useSyncExternalStore(subscribe, () => asking?.finish);
}

function notify(): void {
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
