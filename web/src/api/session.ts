/** Who works with the dashboard: a person with a session cookie and a chosen workspace, or whoever holds an API key. */
import { useSyncExternalStore } from "react";
import {
  type AuthState,
  authState,
  forgetAnswers,
  type Person,
  type Role,
  type Session,
  setAuthState,
  useAuthState,
  type WorkspaceOfPerson,
} from "./auth.ts";

export type Caller =
  | { kind: "key" }
  | { kind: "person"; person: Person; workspace: WorkspaceOfPerson | undefined; workspaces: WorkspaceOfPerson[] };

/** A key lives in this tab's session storage: it survives a reload and ends with the tab. */
const keySlot = "posthorn.key";
/** The workspace that a person last worked in; no secret. */
const workspaceSlot = "posthorn.workspace";
/** The same, where it is past those that the session tells: only the page knows it. */
const farSlot = "posthorn.far-workspace";
const listeners = new Set<() => void>();

/** Why the last session ended against the person's will; shown where they sign in again. */
let farewell: string | undefined;

export function currentKey(): string | undefined {
  return sessionStorage.getItem(keySlot) ?? undefined;
}

export function signInWithKey(key: string): void {
  sessionStorage.setItem(keySlot, key);
  began();
}

export function signInAs(session: Session): void {
  sessionStorage.removeItem(keySlot);
  setAuthState((before) => ({ ...before, ...session, signUp: { ...before.signUp, first: false } }));
  began();
}

/** The end of a session in this page; the cookie of a person is ended by the server. */
export function endSession(why?: string): void {
  sessionStorage.removeItem(keySlot);
  localStorage.removeItem(farSlot);
  setAuthState((before) => ({ ...before, person: null, workspaces: [] }));
  farewell = why;
  forgetAnswers();
  tellAll();
}

export function chooseWorkspace(id: string, far?: WorkspaceOfPerson): void {
  localStorage.setItem(workspaceSlot, id);
  if (far) localStorage.setItem(farSlot, JSON.stringify(far));
  forgetAnswers();
  tellAll();
}

/** The workspace that calls are made in: the one last chosen, if it is still the person's, else their first. */
export function currentWorkspace(state: AuthState | undefined = authState()): WorkspaceOfPerson | undefined {
  const chosen = localStorage.getItem(workspaceSlot);
  const known = [...(state?.workspaces ?? []), ...farWorkspace(state)];
  return known.find(({ id }) => id === chosen) ?? known[0];
}

/** With a session a person's newest workspaces are told, this many at most. */
export const toldWorkspaces = 100;

function farWorkspace(state: AuthState | undefined): WorkspaceOfPerson[] {
  const stored = localStorage.getItem(farSlot);
  return stored !== null && (state?.workspaces.length ?? 0) >= toldWorkspaces ? [JSON.parse(stored)] : [];
}

export function useSession() {
  const key = useSyncExternalStore(subscribe, currentKey);
  useSyncExternalStore(subscribe, () => localStorage.getItem(workspaceSlot));
  const state = useAuthState();
  const { person, workspaces } = state.data ?? { person: null, workspaces: [] };
  let caller: Caller | undefined;
  if (key !== undefined) caller = { kind: "key" };
  else if (person) caller = { kind: "person", person, workspaces, workspace: currentWorkspace(state.data) };
  return { caller, farewell, state };
}

/** The role in the chosen workspace. A key tells nobody its permission: the server says what it may not do. */
export function useRole(): Role | undefined {
  const { caller } = useSession();
  return caller?.kind === "person" ? caller.workspace?.role : undefined;
}

/** Viewers see everything but change nothing. */
export function useMayWrite(): boolean {
  return useRole() !== "viewer";
}

/** True for the key that this session itself uses. */
export function isOwnKey(prefix: string): boolean {
  return currentKey()?.startsWith(`${prefix}_`) ?? false;
}

function began(): void {
  farewell = undefined;
  forgetAnswers();
  tellAll();
}

function tellAll(): void {
  for (const tell of listeners) tell();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
