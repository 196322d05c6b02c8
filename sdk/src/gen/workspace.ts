// Generated from the contract in proto/ by "npm run generate": the types of v1/workspace.proto. Not to be edited.
/** A workspace. */
export interface Workspace {
  /** Identifier of the workspace, `ws_` and a UUID. */
  id: string;
  /** Name for people. */
  name: string;
  /** The role of the signed-in person. `MEMBER_ROLE_UNSPECIFIED` when a key asks. */
  role: MemberRole;
  /** When it was created. */
  createdAt: string;
  /** When it was last changed. */
  updatedAt: string;
}

/** A person in a workspace, or an open invitation. */
export interface Member {
  /** Identifier of the membership. */
  id: string;
  /** Email address of the person. */
  email: string;
  /** Name of the person. Empty while invited. */
  name: string;
  /** What the person may do. */
  role: MemberRole;
  /** When the person was invited. Absent for whoever created the workspace. */
  invitedAt?: string;
  /** When the person joined. Absent while invited. */
  joinedAt?: string;
}

/** Request of CreateWorkspace. */
export interface CreateWorkspaceRequest {
  /** Name for people, up to 100 characters. Required. */
  name: string;
}

/** Response of CreateWorkspace. */
export interface CreateWorkspaceResponse {
  /** The new workspace. */
  workspace: Workspace;
}

/** Request of ListWorkspaces. */
export interface ListWorkspacesRequest {
  /** Workspaces in a page. 0 or unset is 20; more than 100 is served as 100. */
  pageSize?: number;
  /** `nextPageToken` of the page before. Empty: the first page. */
  pageToken?: string;
}

/** Response of ListWorkspaces. */
export interface ListWorkspacesResponse {
  /** The workspaces of this page, newest first. */
  data: Workspace[];
  /** Pass as `pageToken` for the next page. Empty: this is the last page. */
  nextPageToken: string;
}

/** Request of UpdateWorkspace. */
export interface UpdateWorkspaceRequest {
  /** Id of the workspace. Empty: the workspace of the call. */
  workspaceId?: string;
  /** The new name, up to 100 characters. Required. */
  name: string;
}

/** Response of UpdateWorkspace. */
export interface UpdateWorkspaceResponse {
  /** The workspace after the change. */
  workspace: Workspace;
}

/** Request of ListMembers. */
export interface ListMembersRequest {
  /** Id of the workspace. Empty: the workspace of the call. */
  workspaceId?: string;
  /** Members in a page. 0 or unset is 20; more than 100 is served as 100. */
  pageSize?: number;
  /** `nextPageToken` of the page before. Empty: the first page. */
  pageToken?: string;
}

/** Response of ListMembers. */
export interface ListMembersResponse {
  /** The members of this page. */
  data: Member[];
  /** Pass as `pageToken` for the next page. Empty: this is the last page. */
  nextPageToken: string;
}

/** Request of InviteMember. */
export interface InviteMemberRequest {
  /** Id of the workspace. Empty: the workspace of the call. */
  workspaceId?: string;
  /** Email address of the person. Required. */
  email: string;
  /** What the person may do. Required. */
  role: MemberRole;
}

/** Response of InviteMember. */
export interface InviteMemberResponse {
  /** The open invitation. */
  member: Member;
  /** The link by which the person joins. It is sent to them, and shown only here. */
  inviteUrl: string;
  /** What was done. */
  message: string;
}

/** Request of UpdateMember. */
export interface UpdateMemberRequest {
  /** Id of the workspace. Empty: the workspace of the call. */
  workspaceId?: string;
  /** Id of the member. Required. */
  memberId: string;
  /** What the person may do from now on. Required. */
  role: MemberRole;
}

/** Response of UpdateMember. */
export interface UpdateMemberResponse {
  /** The member after the change. */
  member: Member;
}

/** Request of RemoveMember. */
export interface RemoveMemberRequest {
  /** Id of the workspace. Empty: the workspace of the call. */
  workspaceId?: string;
  /** Id of the member. Required. */
  memberId: string;
}

/** Response of RemoveMember. */
export interface RemoveMemberResponse {
  /** What was done. */
  message: string;
}

/** What a member may do in a workspace. */
export type MemberRole =
  | "MEMBER_ROLE_UNSPECIFIED"
  | "MEMBER_ROLE_OWNER"
  | "MEMBER_ROLE_DEVELOPER"
  | "MEMBER_ROLE_VIEWER";
