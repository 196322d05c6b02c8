/** What the browser remembers of the first steps, for each workspace. It holds no secret. */
import { useMemo, useSyncExternalStore } from "react";
import { currentWorkspace } from "../api/session.ts";
import type { Remembered } from "./progress.ts";

const listeners = new Set<() => void>();

/** A session with a key does not know its workspace. */
function slot(): string {
  return `posthorn.guide.${currentWorkspace()?.id ?? "key"}`;
}

export function useRemembered(): Remembered {
  const stored = useSyncExternalStore(subscribe, () => localStorage.getItem(slot()));
  return useMemo(() => parse(stored), [stored]);
}

export function remember(part: Remembered): void {
  localStorage.setItem(slot(), JSON.stringify({ ...parse(localStorage.getItem(slot())), ...part }));
  for (const listener of listeners) listener();
}

function parse(stored: string | null): Remembered {
  try {
    return JSON.parse(stored ?? "{}") as Remembered;
  } catch {
    return {};
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
