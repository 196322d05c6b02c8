/** The second factors and the sessions of the signed-in person, from the /auth endpoints. */
import { useQuery } from "@tanstack/react-query";
import { auth } from "./auth.ts";
import { queryClient } from "./query-client.ts";

export interface Passkey {
  id: string;
  name: string;
  createdAt: string;
  lastUsedAt: string | null;
}

/** What the person needs to confirm who they are. A passkey or one of the providers alone is enough; `signIn`: only a new sign-in helps. */
export interface ConfirmBy {
  password: boolean;
  code: boolean;
  passkey: boolean;
  providers: { name: string; label: string }[];
  signIn: boolean;
}

export interface Factors {
  totp: boolean;
  /** The number of recovery codes that are left. */
  recoveryCodes: number;
  passkeys: Passkey[];
  isRequired: boolean;
  /** Whether this session has a second factor. */
  hasSecondFactor: boolean;
  confirm: ConfirmBy;
  passkeyOrigin: string | null;
}

export interface ListedSession {
  id: string;
  browser: string;
  system: string;
  address: string | null;
  signedInBy: "password" | "passkey" | "oidc";
  createdAt: string;
  lastUsedAt: string;
  isCurrent: boolean;
}

// Not below "auth", so that clearCache removes them when another person signs in.
const factorsKey = ["factors"];
const sessionsKey = ["sessions"];

export function useFactors() {
  return useQuery({
    queryKey: factorsKey,
    queryFn: ({ signal }) => auth<Factors>("factors", undefined, signal),
    retry: false,
  });
}

export function useSessions() {
  return useQuery({
    queryKey: sessionsKey,
    queryFn: async ({ signal }) => (await auth<{ sessions: ListedSession[] }>("sessions", undefined, signal)).sessions,
    retry: false,
  });
}

export async function refreshFactors(): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: factorsKey });
}

export async function refreshSessions(): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: sessionsKey });
}
