/** The caller of an API call: an API key or a signed-in person, with its workspace and permissions. The gate creates it. */

export type Permission = "full" | "send" | "read";

export const roles = ["owner", "developer", "viewer"] as const;
export type Role = (typeof roles)[number];

/** The workspace id of calls that need no workspace. No workspace has it. */
export const noWorkspace = "00000000-0000-0000-0000-000000000000";

export type Caller = {
  workspaceId: string;
  /** The id of the key, or of the person's session. */
  keyId: string;
  permission: Permission;
  domain: string | undefined;
  test: boolean;
  /** The client's IP address. Missing for calls of the command line. */
  address?: string;
  /** The person who created the key, if that is known. */
  keyMakerId?: string;
  /** Set when the caller is a person. The role is undefined in a call that names no workspace. */
  person?: {
    id: string;
    email: string;
    role: Role | undefined;
    /** An operator of the service whose session has a second factor. */
    isOperator?: boolean;
    /** An operator whose session lacks the second factor. */
    lacksSecondFactor?: boolean;
  };
};
