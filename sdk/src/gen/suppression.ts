// Generated from the contract in proto/ by "npm run generate": the types of v1/suppression.proto. Not to be edited.
/** One address that the workspace does not send to. */
export interface Suppression {
  /** The address, its domain in lower case. */
  address: string;
  /** Why it is on the list. */
  reason: SuppressionReason;
  /** Id of the event that put it there. Empty when it was added by hand or by an import. */
  sourceEventId: string;
  /** A remark of whoever added it. */
  note: string;
  /** When it was added. */
  createdAt: string;
}

/** Request of ListSuppressions. */
export interface ListSuppressionsRequest {
  /** Addresses in a page. 0 or unset is 20; more than 100 is served as 100. */
  pageSize?: number;
  /** `nextPageToken` of the page before. Empty: the first page. Keep the filters the same. */
  pageToken?: string;
  /** Only addresses with this reason. Unset: any. */
  reason?: SuppressionReason;
  /** Only addresses that contain this text. */
  search?: string;
}

/** Response of ListSuppressions. */
export interface ListSuppressionsResponse {
  /** The addresses of this page, newest first. */
  data: Suppression[];
  /** Pass as `pageToken` for the next page. Empty: this is the last page. */
  nextPageToken: string;
}

/** Request of AddSuppression. */
export interface AddSuppressionRequest {
  /** The address. Required. */
  address: string;
  /** A remark, up to 500 characters. */
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
  /** What was done. */
  message: string;
}

/** Request of ImportSuppressions. */
export interface ImportSuppressionsRequest {
  /** CSV text (RFC 4180) with a header line. The column `address` is required, `note` is read, others are ignored. */
  csv?: string;
}

/** Response of ImportSuppressions. */
export interface ImportSuppressionsResponse {
  /** Number of addresses that were added. */
  added: number;
  /** Number of addresses that were on the list already. */
  alreadyPresent: number;
  /** Number of lines that were refused. */
  refused: number;
  /** The first 100 refused lines. */
  problems: ImportProblem[];
}

/** A line of an import that was refused. */
export interface ImportProblem {
  /** Number of the line, the header being 1. */
  line: number;
  /** What is wrong with it. */
  message: string;
}

/** Request of ExportSuppressions. */
export interface ExportSuppressionsRequest {
  /** `nextPageToken` of the page before. Empty: the first page. */
  pageToken?: string;
}

/** Response of ExportSuppressions. */
export interface ExportSuppressionsResponse {
  /** CSV text with the columns `address`, `reason`, `note`, `created_at`. The header line is on the first page only, so that pages can be joined. */
  csv: string;
  /** Pass as `pageToken` for the next page. Empty: this is the last page. */
  nextPageToken: string;
}

/** Why an address is on the list. */
export type SuppressionReason =
  | "SUPPRESSION_REASON_UNSPECIFIED"
  | "SUPPRESSION_REASON_BOUNCE"
  | "SUPPRESSION_REASON_COMPLAINT"
  | "SUPPRESSION_REASON_MANUAL"
  | "SUPPRESSION_REASON_IMPORT";
