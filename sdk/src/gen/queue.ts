// Generated from the contract in proto/ by "npm run generate": the types of v1/queue.proto. Not to be edited.
/** The mail that waits for one destination. */
export interface Destination {
  /** The domain of the recipient addresses. */
  destination: string;
  /** The group of mail servers that serves it, by which pace is kept. Empty before it is known. */
  mxSite: string;
  /** How mail is going. */
  state: DestinationState;
  /** Number of recipients that wait, those under way not counted. */
  queued: number;
  /** Number of recipients with an attempt under way. */
  inFlight: number;
  /** When the oldest waiting email was accepted. Absent when none waits. */
  oldestAt?: string;
  /** When the next attempt is due. Absent when none waits. */
  nextAttemptAt?: string;
  /** The receiver's last reply in its own words, or what went wrong before there was one. */
  lastReply: string;
  /** When that reply came. Absent when there was none. */
  lastReplyAt?: string;
  /** Failures in a row at the mail servers of this destination. */
  failures: number;
}

/** Request of ListDestinations. */
export interface ListDestinationsRequest {
  /** Destinations in a page. 0 or unset is 20; more than 100 is served as 100. */
  pageSize?: number;
  /** `nextPageToken` of the page before. Empty: the first page. Keep the filters the same. */
  pageToken?: string;
  /** Only destinations that contain this text. */
  search?: string;
}

/** Response of ListDestinations. */
export interface ListDestinationsResponse {
  /** The destinations of this page. */
  data: Destination[];
  /** Pass as `pageToken` for the next page. Empty: this is the last page. */
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
  /** What was done. */
  message: string;
}

/** Request of PauseDestination. */
export interface PauseDestinationRequest {
  /** The domain of the recipient addresses. Required. */
  destination: string;
}

/** Response of PauseDestination. */
export interface PauseDestinationResponse {
  /** What was done. */
  message: string;
}

/** Request of ResumeDestination. */
export interface ResumeDestinationRequest {
  /** The domain of the recipient addresses. Required. */
  destination: string;
}

/** Response of ResumeDestination. */
export interface ResumeDestinationResponse {
  /** What was done. */
  message: string;
}

/** Request of PurgeDestination. */
export interface PurgeDestinationRequest {
  /** The domain of the recipient addresses. Required. */
  destination: string;
}

/** Response of PurgeDestination. */
export interface PurgeDestinationResponse {
  /** Number of recipients that were given up. */
  recipients: number;
  /** What was done. */
  message: string;
}

/** How mail for a destination is going. */
export type DestinationState =
  | "DESTINATION_STATE_UNSPECIFIED"
  | "DESTINATION_STATE_ACTIVE"
  | "DESTINATION_STATE_BACKING_OFF"
  | "DESTINATION_STATE_PAUSED";
