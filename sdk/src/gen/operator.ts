// Generated from the contract in proto/ by "npm run generate": the types of v1/operator.proto. Do not edit.
import type { AuditEntry, AuditFilter } from "./audit.ts";
import type { EmailOutcome } from "./email.ts";
import type { MemberRole, Quota, Suspension } from "./workspace.ts";
import type { QuotaKind, SendingWarning } from "./event.ts";

/** A person of the service. */
export interface PersonEntry {
  /** Identifier of the person, `per_` and a UUID. */
  id: string;
  /** Email address. */
  email: string;
  /** Name. */
  name: string;
  /** Whether the person may sign in. */
  state: PersonState;
  /** True for an operator of the service. */
  isOperator: boolean;
  /** When the person signed up. */
  createdAt: string;
  /** When an open session of the person was last renewed. Absent without a session. */
  lastSeenAt?: string;
  /** When the person was disabled. Absent while they may sign in. */
  disabledAt?: string;
  /** Workspaces of the person, at most 20, newest first. */
  workspaces: PersonWorkspace[];
  /** The number of all workspaces of the person. */
  workspaceCount: number;
  /** The number of valid keys that the person created, in all workspaces. */
  validKeys: number;
}

/** A workspace of a person. */
export interface PersonWorkspace {
  /** Identifier of the workspace. */
  id: string;
  /** Name of the workspace. */
  name: string;
  /** Role of the person. */
  role: MemberRole;
}

/** A workspace of the service. */
export interface WorkspaceEntry {
  /** Identifier of the workspace, `ws_` and a UUID. */
  id: string;
  /** Display name. */
  name: string;
  /** Whether it may send. */
  state: WorkspaceState;
  /** When it was created. */
  createdAt: string;
  /** True when it was created through open sign-up: the settings for new workspaces apply. */
  fromSignUp: boolean;
  /** True for the first workspace, from whose domain the service sends its own mail. It cannot be deleted. */
  isFirst: boolean;
  /** The number of owners. */
  owners: number;
  /** Every kind of quota with what is used of it, in the order of QuotaKind. */
  quotas: Quota[];
  /** The kinds whose limit is set for this workspace. The settings of the service decide the others. */
  ownQuotas: QuotaKind[];
  /** Absent unless the workspace is suspended. */
  suspension?: Suspension;
  /** Absent unless bounces or complaints exceed a limit. */
  warning?: SendingWarning;
  /** When the deletion began. Absent unless the workspace is being deleted. */
  deletingAt?: string;
}

/** Request of ListPeople. */
export interface ListPeopleRequest {
  /** Maximum number of people per page. 0 or unset means 20; values above 100 are reduced to 100. */
  pageSize?: number;
  /** `nextPageToken` of the previous page. Leave it empty for the first page. */
  pageToken?: string;
  /** Only people whose address or name contains this text, without regard to case. Empty: all. */
  query?: string;
  /** Only people in this state. Unset: all. */
  state?: PersonState;
  /** True: only operators. */
  operatorsOnly?: boolean;
}

/** Response of ListPeople. */
export interface ListPeopleResponse {
  /** The people of this page. */
  data: PersonEntry[];
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** Request of DisablePerson. */
export interface DisablePersonRequest {
  /** Id of the person. Required. */
  id: string;
  /** True: also revokes every key that the person created. */
  revokeKeys?: boolean;
}

/** Response of DisablePerson. */
export interface DisablePersonResponse {
  /** The person after the change. */
  person: PersonEntry;
  /** Result of the call, in a sentence. */
  message: string;
}

/** Request of EnablePerson. */
export interface EnablePersonRequest {
  /** Id of the person. Required. */
  id: string;
}

/** Response of EnablePerson. */
export interface EnablePersonResponse {
  /** The person after the change. */
  person: PersonEntry;
  /** Result of the call, in a sentence. */
  message: string;
}

/** Request of DeletePerson. */
export interface DeletePersonRequest {
  /** Id of the person. Required. */
  id: string;
  /** The address of the person, as a confirmation. Required. */
  email: string;
  /** True: also revokes every key that the person created. */
  revokeKeys?: boolean;
}

/** Response of DeletePerson. */
export interface DeletePersonResponse {
  /** Result of the call, in a sentence. */
  message: string;
}

/** Request of ListAllWorkspaces. */
export interface ListAllWorkspacesRequest {
  /** Maximum number of workspaces per page. 0 or unset means 20; values above 100 are reduced to 100. */
  pageSize?: number;
  /** `nextPageToken` of the previous page. Leave it empty for the first page. */
  pageToken?: string;
  /** Only workspaces whose name contains this text, without regard to case, or which have a member with this address. Empty: all. */
  query?: string;
  /** Only workspaces in this state. Unset: all. */
  state?: WorkspaceState;
}

/** Response of ListAllWorkspaces. */
export interface ListAllWorkspacesResponse {
  /** The workspaces of this page. */
  data: WorkspaceEntry[];
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** Request of SuspendWorkspace. */
export interface SuspendWorkspaceRequest {
  /** Id of the workspace. Required. */
  workspaceId: string;
  /** A sentence that callers and owners read, up to 500 characters. Empty: a default one. */
  reason?: string;
}

/** Response of SuspendWorkspace. */
export interface SuspendWorkspaceResponse {
  /** The workspace after the change. */
  workspace: WorkspaceEntry;
}

/** Request of ResumeWorkspace. */
export interface ResumeWorkspaceRequest {
  /** Id of the workspace. Required. */
  workspaceId: string;
}

/** Response of ResumeWorkspace. */
export interface ResumeWorkspaceResponse {
  /** The workspace after the change. */
  workspace: WorkspaceEntry;
}

/** A quota to set. */
export interface QuotaChange {
  /** What is limited. Required. */
  kind: QuotaKind;
  /** The most that the workspace may use: a whole number of at least 0. */
  limit?: number;
  /** True: no limit. */
  unlimited?: boolean;
  /** True: removes the limit of this workspace, so that the settings of the service decide. */
  useDefault?: boolean;
}

/** Request of SetQuotas. */
export interface SetQuotasRequest {
  /** Id of the workspace. Required. */
  workspaceId: string;
  /** The quotas to set, each kind at most once. Required. */
  quotas: QuotaChange[];
}

/** Response of SetQuotas. */
export interface SetQuotasResponse {
  /** The workspace after the change. */
  workspace: WorkspaceEntry;
}

/** Request of DeleteWorkspace. */
export interface DeleteWorkspaceRequest {
  /** Id of the workspace. Required. */
  workspaceId: string;
  /** The name of the workspace, as a confirmation. Required. */
  name: string;
}

/** Response of DeleteWorkspace. */
export interface DeleteWorkspaceResponse {
  /** Result of the call, in a sentence. */
  message: string;
}

/** Request of ListServiceAuditEntries. */
export interface ListServiceAuditEntriesRequest {
  /** Which entries to return. Unset: all. */
  filter?: AuditFilter;
  /** Maximum number of entries per page. 0 or unset means 20; values above 100 are reduced to 100. */
  pageSize?: number;
  /** `nextPageToken` of the previous page. Leave it empty for the first page. */
  pageToken?: string;
}

/** Response of ListServiceAuditEntries. */
export interface ListServiceAuditEntriesResponse {
  /** The entries of this page, newest first. */
  data: AuditEntry[];
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** Request of ExportServiceAuditEntries. */
export interface ExportServiceAuditEntriesRequest {
  /** Which entries to return. Unset: all. */
  filter?: AuditFilter;
  /** `nextPageToken` of the previous page. Leave it empty for the first page. */
  pageToken?: string;
}

/** Response of ExportServiceAuditEntries. */
export interface ExportServiceAuditEntriesResponse {
  /** The entries of this page, one JSON object per line. */
  jsonLines: string;
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** An email that the service itself sent. */
export interface SystemMail {
  /** Identifier of the email, `em_` and a UUID. EmailService does not find it. */
  id: string;
  /** When the service accepted it for delivery. */
  createdAt: string;
  /** The recipient. */
  to: string;
  /** Subject line. */
  subject: string;
  /** What became of it. */
  outcome: EmailOutcome;
  /** The last words of the receiving server, or why there are none, without links. */
  statusMessage: string;
  /** True while the recipient is suppressed: after a bounce or a complaint, the service sends no more mail to the address. */
  suppressed: boolean;
  /** Messages that answer it, at most 3, newest first. */
  replies: SystemMailReply[];
}

/** A message that answers an email of the service. */
export interface SystemMailReply {
  /** Sender, from the From header. */
  from: string;
  /** When it arrived. */
  receivedAt: string;
  /** The beginning of its text, without quotations and links. */
  text: string;
  /** True for automatic mail, such as an out-of-office reply (RFC 3834). */
  autoSubmitted: boolean;
}

/** Request of ListSystemMail. */
export interface ListSystemMailRequest {
  /** Maximum number of emails per page. 0 or unset means 20; values above 100 are reduced to 100. */
  pageSize?: number;
  /** `nextPageToken` of the previous page. Leave it empty for the first page. Keep the filters the same on every page. */
  pageToken?: string;
  /**
   * Free text: an email id, or words, all of which must match: a whole word of the subject, or at least three characters with which a
   * part of the address begins. Empty: all.
   */
  search?: string;
  /** Only mail with one of these outcomes. Empty: any outcome. */
  outcomes?: EmailOutcome[];
}

/** Response of ListSystemMail. */
export interface ListSystemMailResponse {
  /** The mail of this page. May be empty although there are more pages. */
  data: SystemMail[];
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** Request of RemoveSystemSuppression. */
export interface RemoveSystemSuppressionRequest {
  /** The address. Required. */
  address: string;
}

/** Response of RemoveSystemSuppression. */
export interface RemoveSystemSuppressionResponse {
  /** Result of the call, in a sentence. */
  message: string;
}

/** A wording of a receiver that Posthorn does not know. */
export interface UnknownWording {
  /** The receiving site: the group of mail servers that said it. */
  site: string;
  /** The step of the SMTP conversation that was refused, such as `rcpt` or `dot`. */
  phase: string;
  /** The SMTP code. */
  code: number;
  /** The enhanced status code. Empty if the reply had none. */
  enhancedCode: string;
  /**
   * The words of the reply, up to 200 characters. What differs from message to message is replaced: `<address>`, `<host>`,
   * `<ip>`, `<url>`, `<id>`, `<n>`.
   */
  shape: string;
  /** The category that the code alone gave, as in events. */
  category: string;
  /** How many replies had this shape. */
  replies: number;
  /** When the first of them arrived. */
  firstAt: string;
  /** When the last of them arrived. */
  lastAt: string;
}

/** Request of ListUnknownWordings. */
export interface ListUnknownWordingsRequest {
  /** Maximum number of wordings per page. 0 or unset means 20; values above 100 are reduced to 100. */
  pageSize?: number;
  /** `nextPageToken` of the previous page. Leave it empty for the first page. */
  pageToken?: string;
  /** Only wordings of this receiving site. Empty: all. */
  site?: string;
}

/** Response of ListUnknownWordings. */
export interface ListUnknownWordingsResponse {
  /** The wordings of this page. */
  data: UnknownWording[];
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** Whether a person may sign in. */
export type PersonState =
  | "PERSON_STATE_UNSPECIFIED"
  | "PERSON_STATE_ACTIVE"
  | "PERSON_STATE_DISABLED";

/** Whether a workspace may send. */
export type WorkspaceState =
  | "WORKSPACE_STATE_UNSPECIFIED"
  | "WORKSPACE_STATE_ACTIVE"
  | "WORKSPACE_STATE_SUSPENDED"
  | "WORKSPACE_STATE_DELETING";
