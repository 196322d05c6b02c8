/** Calls to the /auth endpoints: sign-up, sign-in, passwords. The session is an HttpOnly cookie that scripts cannot read. */
import { useQuery } from "@tanstack/react-query";
import { repeatAfterConfirmation } from "./confirm.ts";
import { queryClient } from "./query-client.ts";

export type Role = "owner" | "developer" | "viewer";
export type Person = { id: string; email: string; name: string };
export type WorkspaceOfPerson = {
  id: string;
  name: string;
  role: Role;
  /** Whether the owners require a second factor. */
  requireSecondFactor?: boolean;
  /** True: the session lacks a second factor that is required, so every call in this workspace is rejected. */
  needsSecondFactor?: boolean;
};
export type SecondFactorMethod = "totp" | "passkey" | "recovery";
/** The answer of a first step, if a second step is missing. */
export type SecondFactorNeeded = { secondFactor: { methods: SecondFactorMethod[] } };
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
  /** Set while a sign-in in this browser waits for its second step. */
  secondFactor: SecondFactorNeeded["secondFactor"] | null;
  /** The origin whose pages can use passkeys. Null: none can. */
  passkeyOrigin: string | null;
  /** False: people sign in only with a provider. */
  passwordSignIn: boolean;
  providers: { name: string; label: string }[];
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
  readonly reason: string | undefined;
  constructor(code: string, message: string, fields: Record<string, string>, reason?: string) {
    super(message);
    this.code = code;
    this.fields = fields;
    this.reason = reason;
  }
}

export const freshReason = "FRESH_AUTHENTICATION_REQUIRED";

/** Calls an endpoint. If the server wants a recent proof of identity, the person is asked for it and the call is repeated. */
export async function auth<Result>(path: string, request?: unknown, signal?: AbortSignal): Promise<Result> {
  return await repeatAfterConfirmation(
    () => send<Result>(path, request, signal),
    (error) => error instanceof AuthError && error.reason === freshReason,
  );
}

async function send<Result>(path: string, request?: unknown, signal?: AbortSignal): Promise<Result> {
  const response = await fetch(`/auth/${path}`, {
    method: request === undefined ? "GET" : "POST",
    headers: request === undefined ? {} : { "content-type": "application/json" },
    body: request === undefined ? undefined : JSON.stringify(request),
    signal,
  });
  const isJson = response.headers.get("content-type")?.includes("json") ?? false;
  const result: unknown = isJson ? await response.json() : {};
  if (response.ok && isJson) return result as Result;
  const { code, message, violations, reason } = result as ErrorBody;
  throw new AuthError(
    code ?? (response.ok || response.status === 404 ? "unimplemented" : "unknown"),
    message ?? `The server returned HTTP ${response.status}.`,
    Object.fromEntries((violations ?? []).map(({ field, description }) => [field, description])),
    reason,
  );
}

type ErrorBody = {
  code?: string;
  message?: string;
  violations?: { field: string; description: string }[];
  reason?: string;
};

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
