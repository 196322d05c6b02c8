/** Calls to the /auth endpoints: sign-up, sign-in, passwords. The session is an HttpOnly cookie that scripts cannot read. */
import { useQuery } from "@tanstack/react-query";
import { queryClient } from "./query-client.ts";

export type Role = "owner" | "developer" | "viewer";
export type Person = { id: string; email: string; name: string };
export type WorkspaceOfPerson = { id: string; name: string; role: Role };
export type Session = { person: Person; workspaces: WorkspaceOfPerson[] };

export interface AuthState {
  person: Person | null;
  workspaces: WorkspaceOfPerson[];
  /** Null unless the person is an operator of the service. */
  operator: { hasSecondFactor: boolean } | null;
  /** False for a person who was removed from every workspace: only an invitation helps. */
  mayCreateWorkspace: boolean;
  /** How people create an account: with a link by email, the one-time link for the first person, or only an invitation. */
  signUp: { by: "mail" | "link" | "closed"; first: boolean; message: string };
  passwordReset: "mail" | "command";
  password: { minLength: number; maxLength: number };
}

export interface LinkKind {
  kind: "first" | "sign_up" | "invitation" | "reset";
  email?: string;
  workspace?: { name: string };
  role?: Role;
  hasAccount?: boolean;
  /** False for a link that the inviter passed on: it does not prove the address. */
  mayCreateAccount?: boolean;
}

/** An error response of an /auth endpoint, with the invalid fields. */
export class AuthError extends Error {
  override readonly name = "AuthError";
  readonly code: string;
  readonly fields: Record<string, string>;
  constructor(code: string, message: string, fields: Record<string, string>) {
    super(message);
    this.code = code;
    this.fields = fields;
  }
}

export async function auth<Result>(path: string, request?: unknown, signal?: AbortSignal): Promise<Result> {
  const response = await fetch(`/auth/${path}`, {
    method: request === undefined ? "GET" : "POST",
    headers: request === undefined ? {} : { "content-type": "application/json" },
    body: request === undefined ? undefined : JSON.stringify(request),
    signal,
  });
  const isJson = response.headers.get("content-type")?.includes("json") ?? false;
  const result: unknown = isJson ? await response.json() : {};
  if (response.ok && isJson) return result as Result;
  const { code, message, violations } = result as ErrorBody;
  throw new AuthError(
    code ?? (response.ok || response.status === 404 ? "unimplemented" : "unknown"),
    message ?? `The server returned HTTP ${response.status}.`,
    Object.fromEntries((violations ?? []).map(({ field, description }) => [field, description])),
  );
}

type ErrorBody = { code?: string; message?: string; violations?: { field: string; description: string }[] };

const stateKey = ["auth", "state"];

/** The signed-in person and the sign-up options. Fetched once at load and after each change. */
export function useAuthState() {
  return useQuery({
    queryKey: stateKey,
    queryFn: ({ signal }) => auth<AuthState>("state", undefined, signal),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
}

export function authState(): AuthState | undefined {
  return queryClient.getQueryData<AuthState>(stateKey);
}

export function setAuthState(change: (before: AuthState) => AuthState): void {
  queryClient.setQueryData<AuthState>(stateKey, (before) => before && change(before));
}

/** Clears all cached API data except the session, when the person or the workspace changes. */
export function clearCache(): void {
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "auth" });
  queryClient.getMutationCache().clear();
}

export async function refreshAuthState(): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: stateKey });
}
