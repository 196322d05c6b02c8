// Generated from the contract in proto/ by "npm run generate": the types of v1/stats.proto. Not to be edited.
/** What happened in a span of time. Everything but `emails` counts recipients. */
export interface StatsCounts {
  /** Number of emails that were accepted for sending. */
  emails: number;
  /** Number of recipients that those emails had. */
  accepted: number;
  /** Number of recipients whose own mail server accepted the email. */
  delivered: number;
  /** Number of recipients whose email was handed to the configured relay. */
  sent: number;
  /** Number of recipients that bounced, those included that had been delivered before. */
  bounced: number;
  /** Number of attempts that were put off for another try. */
  delayed: number;
  /** Number of complaints. */
  complained: number;
  /** Number of recipients that were not tried, because their address is on the suppression list. */
  suppressed: number;
  /** Number of recipients that failed for a reason on this side. */
  failed: number;
  /** Number of recipients that were canceled. */
  canceled: number;
  /**
   * Half of the deliveries took at most this many milliseconds, from the time that the email was accepted or scheduled for; good to
   * about a fifth. Absent when nothing was delivered or sent.
   */
  deliveryP50Ms?: number;
  /** 95 of 100 deliveries took at most this many milliseconds. Absent when nothing was delivered or sent. */
  deliveryP95Ms?: number;
}

/** What happened in one bucket. */
export interface StatsBucket {
  /** When the bucket begins. */
  start: string;
  /** The counts. */
  counts: StatsCounts;
}

/** What happened at one receiving site. */
export interface StatsSite {
  /**
   * The group of mail servers, such as `google.com`, as the queue names it. `other` gathers the rest: in each hour the 20 sites with the
   * most mail are counted by name, and at most 20 are listed here.
   */
  site: string;
  /** The counts that events with a mail server tell: delivered, sent, bounced, delayed and the delivery times. The others are 0. */
  counts: StatsCounts;
}

/** Request of GetStats. */
export interface GetStatsRequest {
  /** The beginning. Optional, 24 hours before `to` by default. */
  from?: Date | string;
  /** The end, not included. Optional, now by default. */
  to?: Date | string;
  /** How long a bucket is. Optional, by the length of the span. */
  bucket?: StatsBucketSize;
}

/** Response of GetStats. */
export interface GetStatsResponse {
  /** When the first bucket begins. */
  from: string;
  /** When the last bucket ends. */
  to: string;
  /** How long a bucket is. */
  bucket: StatsBucketSize;
  /** Everything up to this moment is counted. */
  asOf: string;
  /** All buckets together. */
  totals: StatsCounts;
  /** The buckets in their order. */
  buckets: StatsBucket[];
  /** The receiving sites, the one with the most mail first. */
  sites: StatsSite[];
}

/** How long a bucket is. */
export type StatsBucketSize =
  | "STATS_BUCKET_SIZE_UNSPECIFIED"
  | "STATS_BUCKET_SIZE_HOUR"
  | "STATS_BUCKET_SIZE_SIX_HOURS"
  | "STATS_BUCKET_SIZE_DAY";
