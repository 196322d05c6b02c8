/** The API key that a person works with. It lives in this tab's session storage: it survives a reload and ends with the tab. */
import { useSyncExternalStore } from "react";

const slot = "posthorn.key";
const listeners = new Set<() => void>();

/** Why the last session ended against the person's will; shown where they sign in again. */
let farewell: string | undefined;

export function currentKey(): string | undefined {
  return sessionStorage.getItem(slot) ?? undefined;
}

export function signIn(key: string): void {
  sessionStorage.setItem(slot, key);
  farewell = undefined;
  for (const tell of listeners) tell();
}

export function signOut(why?: string): void {
  sessionStorage.removeItem(slot);
  farewell = why;
  for (const tell of listeners) tell();
}

export function useSession(): { key: string | undefined; farewell: string | undefined } {
  const key = useSyncExternalStore(subscribe, currentKey);
  return { key, farewell };
}

/** True for the key that this session itself uses. */
export function isOwnKey(prefix: string): boolean {
  return currentKey()?.startsWith(`${prefix}_`) ?? false;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
