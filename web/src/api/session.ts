/** The caller of the dashboard: a signed-in person with a selected workspace, or an API key. */
import { useSyncExternalStore } from "react";
import {
  type AuthState,
  auth,
  authState,
  clearCache,
  type Person,
  type Role,
  refreshAuthState,
  type Session,
  setAuthState,
  useAuthState,
  type WorkspaceOfPerson,
} from "./auth.ts";

export type Caller =
  | { kind: "key" }
  | { kind: "person"; person: Person; workspace: WorkspaceOfPerson | undefined; workspaces: WorkspaceOfPerson[] };

/** The key is in the session storage of this tab: it survives a reload and is deleted when the tab closes. */
const keySlot = "posthorn.key";
/** The id of the workspace that the person last selected. Not secret. */
const workspaceSlot = "posthorn.workspace";
/** The selected workspace itself, if the session response does not contain it. */
const extraSlot = "posthorn.far-workspace";
const listeners = new Set<() => void>();

/** Why the last session ended, if the person did not end it. Shown above the sign-in form. */
let endReason: string | undefined;

export function currentKey(): string | undefined {
  return sessionStorage.getItem(keySlot) ?? undefined;
}

export function signInWithKey(key: string): void {
  sessionStorage.setItem(keySlot, key);
  startSession();
}

export function signInAs(session: Session): void {
  sessionStorage.removeItem(keySlot);
  setAuthState((before) => ({ ...before, ...session, operator: null, signUp: { ...before.signUp, first: false } }));
  startSession();
  // The answer to a sign-in does not say whether the person is an operator.
  void refreshAuthState();
}

/** Ends the session in this page. The server ends the session of a person's cookie. */
export function endSession(reason?: string): void {
  sessionStorage.removeItem(keySlot);
  localStorage.removeItem(extraSlot);
  setAuthState((before) => ({ ...before, person: null, workspaces: [], operator: null }));
  endReason = reason;
  clearCache();
  notifyListeners();
}

export async function signOut(): Promise<void> {
  // Only the server can end the session of the cookie. If it cannot be reached, the person must know.
  try {
    await auth("sign-out", {});
    endSession();
  } catch {
    endSession("The server could not be reached. Your session may still be active in this browser.");
  }
}

export function chooseWorkspace(id: string, extra?: WorkspaceOfPerson): void {
  localStorage.setItem(workspaceSlot, id);
  if (extra) localStorage.setItem(extraSlot, JSON.stringify(extra));
  clearCache();
  notifyListeners();
}

/** The workspace that calls are made in: the last selected one if the person is still a member, otherwise their first. */
export function currentWorkspace(state: AuthState | undefined = authState()): WorkspaceOfPerson | undefined {
  const chosen = localStorage.getItem(workspaceSlot);
  const known = [...(state?.workspaces ?? []), ...extraWorkspace(state)];
  return known.find(({ id }) => id === chosen) ?? known[0];
}

/** The session response contains at most this many workspaces, the newest ones. */
export const sessionWorkspaceLimit = 100;

function extraWorkspace(state: AuthState | undefined): WorkspaceOfPerson[] {
  const stored = localStorage.getItem(extraSlot);
  return stored !== null && (state?.workspaces.length ?? 0) >= sessionWorkspaceLimit ? [JSON.parse(stored)] : [];
}

export function useSession() {
  const key = useSyncExternalStore(subscribe, currentKey);
  useSyncExternalStore(subscribe, () => localStorage.getItem(workspaceSlot));
  const state = useAuthState();
  const { person, workspaces } = state.data ?? { person: null, workspaces: [] };
  let caller: Caller | undefined;
  if (key !== undefined) caller = { kind: "key" };
  else if (person) caller = { kind: "person", person, workspaces, workspace: currentWorkspace(state.data) };
  return { caller, endReason, state };
}

/** The person's role in the selected workspace. Undefined for a key, whose permission the page does not know. */
export function useRole(): Role | undefined {
  const { caller } = useSession();
  return caller?.kind === "person" ? caller.workspace?.role : undefined;
}

/** False for viewers. True for keys: the server rejects calls that a key may not make. */
export function useMayWrite(): boolean {
  return useRole() !== "viewer";
}

/** True for the key that this session uses. */
export function isOwnKey(prefix: string): boolean {
  return currentKey()?.startsWith(`${prefix}_`) ?? false;
}

function startSession(): void {
  endReason = undefined;
  clearCache();
  notifyListeners();
}

function notifyListeners(): void {
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
