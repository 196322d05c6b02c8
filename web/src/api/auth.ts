/** The calls by which people sign up and in. The session itself is a cookie that this page never sees. */
import { useQuery } from "@tanstack/react-query";
import { queryClient } from "./query-client.ts";

export type Role = "owner" | "developer" | "viewer";
export type Person = { id: string; email: string; name: string };
export type WorkspaceOfPerson = { id: string; name: string; role: Role };
export type Session = { person: Person; workspaces: WorkspaceOfPerson[] };

export interface AuthState {
  person: Person | null;
  workspaces: WorkspaceOfPerson[];
  /** How an account comes to be: by a form at once, by a link in a mail, by the first person's one-time link, or only by invitation. */
  signUp: { by: "form" | "mail" | "link" | "closed"; first: boolean; message: string };
  passwordReset: "mail" | "command";
  password: { minLength: number; maxLength: number };
}

export interface LinkKind {
  kind: "first" | "sign_up" | "invitation" | "reset";
  email?: string;
  workspace?: { name: string };
  role?: Role;
  hasAccount?: boolean;
}

/** What the server said no to, with the fields at fault. */
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

export async function auth<Answer>(path: string, body?: unknown, signal?: AbortSignal): Promise<Answer> {
  const response = await fetch(`/auth/${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: body === undefined ? {} : { "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal,
  });
  const isJson = response.headers.get("content-type")?.includes("json") ?? false;
  const answer: unknown = isJson ? await response.json() : {};
  if (response.ok && isJson) return answer as Answer;
  const { code, message, violations } = answer as Refusal;
  throw new AuthError(
    code ?? (response.ok || response.status === 404 ? "unimplemented" : "unknown"),
    message ?? `The server answered with HTTP ${response.status}.`,
    Object.fromEntries((violations ?? []).map(({ field, description }) => [field, description])),
  );
}

type Refusal = { code?: string; message?: string; violations?: { field: string; description: string }[] };

const stateKey = ["auth", "state"];

/** Who is signed in, asked once at load and after each change. */
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

/** Everything but who is signed in: it belonged to another person or another workspace. */
export function forgetAnswers(): void {
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "auth" });
  queryClient.getMutationCache().clear();
}

export async function refreshAuthState(): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: stateKey });
}
