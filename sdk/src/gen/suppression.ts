// Generated from the contract in proto/ by "npm run generate": the types of v1/suppression.proto. Do not edit.
/** One address that the workspace does not send to. */
export interface Suppression {
  /** The address, its domain in lower case. */
  address: string;
  /** Why it is on the list. */
  reason: SuppressionReason;
  /** Id of the event that added it. Empty when a caller or an import added it. */
  sourceEventId: string;
  /** Note given when it was added. */
  note: string;
  /** When it was added. */
  createdAt: string;
}

/** Request of ListSuppressions. */
export interface ListSuppressionsRequest {
  /** Maximum number of addresses per page. 0 or unset means 20; values above 100 are reduced to 100. */
  pageSize?: number;
  /** `nextPageToken` of the previous page. Leave it empty for the first page. Keep the filters the same on every page. */
  pageToken?: string;
  /** Only addresses with this reason. Unset: any reason. */
  reason?: SuppressionReason;
  /** Only addresses that contain this text. */
  search?: string;
}

/** Response of ListSuppressions. */
export interface ListSuppressionsResponse {
  /** The addresses of this page, newest first. */
  data: Suppression[];
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** Request of AddSuppression. */
export interface AddSuppressionRequest {
  /** The address. Required. */
  address: string;
  /** Note, up to 500 characters. */
  note?: string;
}

/** Response of AddSuppression. */
export interface AddSuppressionResponse {
  /** The entry on the list. */
  suppression: Suppression;
}

/** Request of RemoveSuppression. */
export interface RemoveSuppressionRequest {
  /** The address. Required. */
  address: string;
}

/** Response of RemoveSuppression. */
export interface RemoveSuppressionResponse {
  /** Result of the call, in a sentence. */
  message: string;
}

/** Request of ImportSuppressions. */
export interface ImportSuppressionsRequest {
  /**
   * CSV text (RFC 4180) with a header line. The column `address` must exist, `note` is optional, other columns are
   * ignored.
   */
  csv?: string;
}

/** Response of ImportSuppressions. */
export interface ImportSuppressionsResponse {
  /** Number of addresses that were added. */
  added: number;
  /** Number of addresses that were already on the list. */
  alreadyPresent: number;
  /** Number of lines that were rejected. */
  refused: number;
  /** The first 100 rejected lines. */
  problems: ImportProblem[];
}

/** A rejected line of an import. */
export interface ImportProblem {
  /** Line number; the header is line 1. */
  line: number;
  /** What is wrong with the line. */
  message: string;
}

/** Request of ExportSuppressions. */
export interface ExportSuppressionsRequest {
  /** `nextPageToken` of the previous page. Leave it empty for the first page. */
  pageToken?: string;
}

/** Response of ExportSuppressions. */
export interface ExportSuppressionsResponse {
  /**
   * CSV text with the columns `address`, `reason`, `note`, `created_at`. Only the first page has the header line, so
   * that pages can be concatenated.
   */
  csv: string;
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** An address that does not get emails with a topic. */
export interface UnsubscribedAddress {
  /** The address, in lower case. */
  address: string;
  /** The topic; `*` for all topics, also later ones. */
  topic: string;
  /** How it was unsubscribed. */
  method: UnsubscribeMethod;
  /** Id of the email whose link was used. Empty when a caller added the entry. */
  emailId: string;
  /** Id of the `email.unsubscribed` event. Empty when a caller added the entry. */
  sourceEventId: string;
  /** When it was unsubscribed. */
  createdAt: string;
}

/** Request of ListUnsubscribes. */
export interface ListUnsubscribesRequest {
  /** Maximum number of entries per page. 0 or unset means 20; values above 100 are reduced to 100. */
  pageSize?: number;
  /** `nextPageToken` of the previous page. Leave it empty for the first page. Keep the filters the same on every page. */
  pageToken?: string;
  /** Only entries with this topic; `*` for those with all topics. Empty: any topic. */
  topic?: string;
  /** Only addresses that contain this text. */
  search?: string;
}

/** Response of ListUnsubscribes. */
export interface ListUnsubscribesResponse {
  /** The entries of this page, newest first. */
  data: UnsubscribedAddress[];
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** Request of AddUnsubscribe. */
export interface AddUnsubscribeRequest {
  /** The address. Required. */
  address: string;
  /** The topic, or `*` for all topics, also later ones. Required. */
  topic: string;
}

/** Response of AddUnsubscribe. */
export interface AddUnsubscribeResponse {
  /** The entry on the list. */
  unsubscribe: UnsubscribedAddress;
}

/** Request of RemoveUnsubscribe. */
export interface RemoveUnsubscribeRequest {
  /** The address. Required. */
  address: string;
  /** The topic of the entry, or `*`. Required. Removing `*` does not remove entries of single topics. */
  topic: string;
}

/** Response of RemoveUnsubscribe. */
export interface RemoveUnsubscribeResponse {
  /** Result of the call, in a sentence. */
  message: string;
}

/** Why an address is on the list. */
export type SuppressionReason =
  | "SUPPRESSION_REASON_UNSPECIFIED"
  | "SUPPRESSION_REASON_BOUNCE"
  | "SUPPRESSION_REASON_COMPLAINT"
  | "SUPPRESSION_REASON_MANUAL"
  | "SUPPRESSION_REASON_IMPORT"
  | "SUPPRESSION_REASON_UNSUBSCRIBED";

/** How an address was unsubscribed. */
export type UnsubscribeMethod =
  | "UNSUBSCRIBE_METHOD_UNSPECIFIED"
  | "UNSUBSCRIBE_METHOD_ONE_CLICK"
  | "UNSUBSCRIBE_METHOD_PAGE"
  | "UNSUBSCRIBE_METHOD_API";
