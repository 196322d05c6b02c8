// Generated from the contract in proto/ by "npm run generate": the types of v1/queue.proto. Do not edit.
/** The waiting mail for one destination. */
export interface Destination {
  /** The domain of the recipient addresses. */
  destination: string;
  /** The site: the group of mail servers that receive its mail and share one pace. Empty until it is known. */
  mxSite: string;
  /** Current state. */
  state: DestinationState;
  /** Number of waiting recipients, excluding those with an attempt in progress. */
  queued: number;
  /** Number of recipients with an attempt in progress. */
  inFlight: number;
  /** When the oldest waiting email was accepted. Absent when no email is waiting, or only mail that is scheduled for later. */
  oldestAt?: string;
  /** When the next attempt is due. Absent when no email is waiting. */
  nextAttemptAt?: string;
  /** The receiver's last reply, verbatim, or a description of the failure when there was no reply. */
  lastReply: string;
  /** When that reply arrived. Absent when there was none. */
  lastReplyAt?: string;
  /** Number of consecutive failures at the mail servers of this destination. */
  failures: number;
  /**
   * Since when the mail servers of this destination have not answered open connections. Meanwhile one email at a time
   * probes them. Absent while they answer.
   */
  stalledSince?: string;
  /** Number of those in `queued` whose email is scheduled for a later time. They are not waiting for the receiver. */
  scheduled: number;
  /** Number of those in `queued` that were tried and wait for their next attempt, also if the result of a try is unknown. */
  delayed: number;
}

/** Request of ListDestinations. */
export interface ListDestinationsRequest {
  /** Maximum number of destinations per page. 0 or unset means 20; values above 100 are reduced to 100. */
  pageSize?: number;
  /** `nextPageToken` of the previous page. Leave it empty for the first page. Keep the filters the same on every page. */
  pageToken?: string;
  /** Only destinations that contain this text. */
  search?: string;
}

/** Response of ListDestinations. */
export interface ListDestinationsResponse {
  /** The destinations of this page. */
  data: Destination[];
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** Request of RetryDestination. */
export interface RetryDestinationRequest {
  /** The domain of the recipient addresses. Required. */
  destination: string;
}

/** Response of RetryDestination. */
export interface RetryDestinationResponse {
  /** Number of recipients that are due now. */
  recipients: number;
  /** Result of the call, in a sentence. */
  message: string;
}

/** Request of PauseDestination. */
export interface PauseDestinationRequest {
  /** The domain of the recipient addresses. Required. */
  destination: string;
}

/** Response of PauseDestination. */
export interface PauseDestinationResponse {
  /** Result of the call, in a sentence. */
  message: string;
}

/** Request of ResumeDestination. */
export interface ResumeDestinationRequest {
  /** The domain of the recipient addresses. Required. */
  destination: string;
}

/** Response of ResumeDestination. */
export interface ResumeDestinationResponse {
  /** Result of the call, in a sentence. */
  message: string;
}

/** Request of PurgeDestination. */
export interface PurgeDestinationRequest {
  /** The domain of the recipient addresses. Required. */
  destination: string;
}

/** Response of PurgeDestination. */
export interface PurgeDestinationResponse {
  /** Number of recipients that were marked as failed. */
  recipients: number;
  /** Result of the call, in a sentence. */
  message: string;
}

/** State of a destination. */
export type DestinationState =
  | "DESTINATION_STATE_UNSPECIFIED"
  | "DESTINATION_STATE_ACTIVE"
  | "DESTINATION_STATE_BACKING_OFF"
  | "DESTINATION_STATE_PAUSED";
