/** The caller of an API call: an API key or a signed-in person, with its workspace and permissions. The gate creates it. */
import type { PersonProof } from "./proof.ts";

/** `scoped`: the scopes of the key decide. */
export type Permission = "full" | "send" | "read" | "scoped";

export const scopes = [
  "send",
  "emails",
  "events",
  "inbound",
  "domains",
  "webhooks",
  "suppressions",
  "stats",
  "audit",
  "manage",
] as const;
export type Scope = (typeof scopes)[number];

export const roles = ["owner", "developer", "viewer"] as const;
export type Role = (typeof roles)[number];

/** Stands in for the id of a key in calls of the command line: a caller that can open the store needs no key. */
export const commandKeyId = "00000000-0000-0000-0000-000000000000";

/** What a key may do within its permission. A limit that is not set allows everything. */
export type KeyLimits = {
  scopes?: readonly Scope[];
  /** Domains that the key may send from. */
  domains?: readonly string[];
  /** Addresses, domains, and `*.` with a domain for its subdomains. */
  recipients?: readonly string[];
  /** Client addresses, in CIDR notation. */
  addresses?: readonly string[];
  expiresAt?: Date;
};

/** The workspace id of calls that need no workspace. No workspace has it. */
export const noWorkspace = "00000000-0000-0000-0000-000000000000";

export type Caller = {
  workspaceId: string;
  /** The id of the key, or of the person's session. */
  keyId: string;
  permission: Permission;
  test: boolean;
  /** The client's IP address, read when it is needed. Missing for calls of the command line. */
  address?: () => string;
  /** Undefined for a key without limits and for a person. */
  limits?: KeyLimits;
  /** Changes with the scopes and addresses of a key, so that streams notice. */
  limitsVersion?: number;
  /** Set when the caller is a person. The role is undefined in a call that names no workspace. */
  person?: {
    id: string;
    email: string;
    role: Role | undefined;
    proof?: PersonProof;
    /** An operator of the service whose session has a second factor. */
    isOperator?: boolean;
    /** An operator whose session lacks the second factor. */
    lacksSecondFactor?: boolean;
  };
};

/** Whether the caller reads the text of inbound mail, also in events. */
export function readsInboundText({ permission, limits }: Caller): boolean {
  return permission === "full" || limits?.scopes?.includes("inbound") === true;
}

/** Whether the caller reads only the emails that it sent. */
export function readsOwnEmailsOnly({ permission, limits }: Caller): boolean {
  return permission === "send" || (permission === "scoped" && !limits?.scopes?.includes("emails"));
}
