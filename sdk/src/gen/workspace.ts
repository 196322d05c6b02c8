// Generated from the contract in proto/ by "npm run generate": the types of v1/workspace.proto. Do not edit.
import type { QuotaKind, SendingWarning } from "./event.ts";

/** A workspace. */
export interface Workspace {
  /** Identifier of the workspace, `ws_` and a UUID. */
  id: string;
  /** Display name. */
  name: string;
  /** The role of the signed-in person. `MEMBER_ROLE_UNSPECIFIED` when the caller is a key. */
  role: MemberRole;
  /** When it was created. */
  createdAt: string;
  /** When it was last changed. */
  updatedAt: string;
  /** True: a member can use the workspace only in a session with a second factor. Keys are not affected. */
  requireSecondFactor: boolean;
}

/** A person in a workspace, or an open invitation. */
export interface Member {
  /** Identifier of the membership. */
  id: string;
  /** Email address of the person. */
  email: string;
  /** Name of the person. Empty while invited. */
  name: string;
  /** Role of the person. */
  role: MemberRole;
  /** When the person was invited. Absent for the person who created the workspace. */
  invitedAt?: string;
  /** When the person joined. Absent while invited. */
  joinedAt?: string;
}

/** Request of CreateWorkspace. */
export interface CreateWorkspaceRequest {
  /** Display name, up to 100 characters. Required. */
  name: string;
}

/** Response of CreateWorkspace. */
export interface CreateWorkspaceResponse {
  /** The new workspace. */
  workspace: Workspace;
}

/** Request of ListWorkspaces. */
export interface ListWorkspacesRequest {
  /** Maximum number of workspaces per page. 0 or unset means 20; values above 100 are reduced to 100. */
  pageSize?: number;
  /** `nextPageToken` of the previous page. Leave it empty for the first page. */
  pageToken?: string;
}

/** Response of ListWorkspaces. */
export interface ListWorkspacesResponse {
  /** The workspaces of this page, newest first. */
  data: Workspace[];
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** Request of UpdateWorkspace. */
export interface UpdateWorkspaceRequest {
  /** Id of the workspace. Empty: the workspace that the call is made in. */
  workspaceId?: string;
  /** The new name, up to 100 characters. Required, unless `requireSecondFactor` is set: then empty keeps the name. */
  name: string;
  /** Whether members need a session with a second factor. Not set: unchanged. */
  requireSecondFactor?: boolean;
}

/** Response of UpdateWorkspace. */
export interface UpdateWorkspaceResponse {
  /** The workspace after the change. */
  workspace: Workspace;
}

/** Request of ListMembers. */
export interface ListMembersRequest {
  /** Id of the workspace. Empty: the workspace that the call is made in. */
  workspaceId?: string;
  /** Maximum number of members per page. 0 or unset means 20; values above 100 are reduced to 100. */
  pageSize?: number;
  /** `nextPageToken` of the previous page. Leave it empty for the first page. */
  pageToken?: string;
}

/** Response of ListMembers. */
export interface ListMembersResponse {
  /** The members of this page. */
  data: Member[];
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** Request of InviteMember. */
export interface InviteMemberRequest {
  /** Id of the workspace. Empty: the workspace that the call is made in. */
  workspaceId?: string;
  /** Email address of the person. Required. */
  email: string;
  /** Role of the person. Required. */
  role: MemberRole;
}

/** Response of InviteMember. */
export interface InviteMemberResponse {
  /** The open invitation. */
  member: Member;
  /** The link to join the workspace. It is emailed to the person and returned only in this response. */
  inviteUrl: string;
  /** Result of the call, in a sentence. */
  message: string;
}

/** Request of UpdateMember. */
export interface UpdateMemberRequest {
  /** Id of the workspace. Empty: the workspace that the call is made in. */
  workspaceId?: string;
  /** Id of the member. Required. */
  memberId: string;
  /** The new role. Required. */
  role: MemberRole;
}

/** Response of UpdateMember. */
export interface UpdateMemberResponse {
  /** The member after the change. */
  member: Member;
}

/** Request of RemoveMember. */
export interface RemoveMemberRequest {
  /** Id of the workspace. Empty: the workspace that the call is made in. */
  workspaceId?: string;
  /** Id of the member. Required. */
  memberId: string;
  /** True: also revokes the keys that the member created in this workspace. */
  revokeKeys?: boolean;
}

/** Response of RemoveMember. */
export interface RemoveMemberResponse {
  /** Result of the call, in a sentence. */
  message: string;
  /** The number of keys that the member created and that are still valid after this call. */
  validKeys: number;
  /** The number of keys that this call revoked. */
  revokedKeys: number;
}

/** Request of ListMemberKeys. */
export interface ListMemberKeysRequest {
  /** Id of the workspace. Empty: the workspace that the call is made in. */
  workspaceId?: string;
  /** Id of the member. Required. */
  memberId: string;
  /** Maximum number of keys per page. 0 or unset means 20; values above 100 are reduced to 100. */
  pageSize?: number;
  /** `nextPageToken` of the previous page. Leave it empty for the first page. */
  pageToken?: string;
}

/** Response of ListMemberKeys. */
export interface ListMemberKeysResponse {
  /** The keys of this page. Empty for an open invitation. */
  data: MemberKey[];
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** A valid key that a member created. */
export interface MemberKey {
  /** Identifier of the key, `key_` and a UUID. */
  id: string;
  /** Name of the key. */
  name: string;
  /** The public prefix of the key, which identifies it without its secret. */
  prefix: string;
  /** True for a test key. */
  test: boolean;
  /** When it was created. */
  createdAt: string;
  /** When it was last used, to the minute. Absent when it was never used. */
  lastUsedAt?: string;
}

/** Request of GetQuotas. */
export interface GetQuotasRequest {
  /** Id of the workspace. Empty: the workspace that the call is made in. */
  workspaceId?: string;
}

/** Response of GetQuotas. */
export interface GetQuotasResponse {
  /** Every kind of quota, in the order of QuotaKind. */
  quotas: Quota[];
  /** Absent unless the workspace is suspended. */
  suspension?: Suspension;
  /** Absent unless bounces or complaints exceed a limit. */
  warning?: SendingWarning;
}

/** One quota of a workspace. */
export interface Quota {
  /** What is limited. */
  kind: QuotaKind;
  /** The most that the workspace may use. Absent: unlimited. */
  limit?: number;
  /** What the workspace uses now, a whole number. */
  used: number;
  /** When the current hour or day ends and the count starts again. Absent for a quota that does not count by time. */
  resetsAt?: string;
}

/** A suspension of a workspace: it cannot send, its queued mail waits, and everything else works. */
export interface Suspension {
  /** Why, in a sentence. */
  reason: string;
  /** Since when. */
  suspendedAt: string;
}

/** What a member may do in a workspace. */
export type MemberRole =
  | "MEMBER_ROLE_UNSPECIFIED"
  | "MEMBER_ROLE_OWNER"
  | "MEMBER_ROLE_DEVELOPER"
  | "MEMBER_ROLE_VIEWER";
