// Generated from the contract in proto/ by "npm run generate": the types of v1/stats.proto. Do not edit.
/** Counts for a period. All counts except `emails` count recipients. */
export interface StatsCounts {
  /** Number of emails that were accepted for sending. */
  emails: number;
  /** Number of recipients of those emails. */
  accepted: number;
  /** Number of recipients whose own mail server accepted the email. */
  delivered: number;
  /** Number of recipients whose email was handed to the configured relay. */
  sent: number;
  /** Number of recipients that bounced, including those that bounced after delivery. */
  bounced: number;
  /** Number of attempts that failed temporarily and are retried. */
  delayed: number;
  /** Number of complaints. */
  complained: number;
  /** Number of recipients that were not attempted, because their address is on the suppression list. */
  suppressed: number;
  /** Number of recipients that failed for a reason within this service. */
  failed: number;
  /** Number of recipients that were canceled. */
  canceled: number;
  /**
   * Median delivery time (p50) in milliseconds, measured from the time that the email was accepted or scheduled for. Accurate to
   * about 20%. Absent when nothing was delivered or sent.
   */
  deliveryP50Ms?: number;
  /** 95th percentile (p95) of the delivery time in milliseconds. Absent when nothing was delivered or sent. */
  deliveryP95Ms?: number;
}

/** Counts for one bucket. */
export interface StatsBucket {
  /** Start of the bucket. */
  start: string;
  /** The counts. */
  counts: StatsCounts;
}

/** Counts for one receiving site. */
export interface StatsSite {
  /**
   * The group of mail servers, such as `google.com`, with the name that the queue uses. `other` is the sum of the rest: each hour
   * counts the 20 sites with the most mail by name, and at most 20 are listed here.
   */
  site: string;
  /** Only delivered, sent, bounced, delayed and the delivery times, which come from events that name a mail server. The others are 0. */
  counts: StatsCounts;
}

/** Request of GetStats. */
export interface GetStatsRequest {
  /** Start of the range. Optional, 24 hours before `to` by default. */
  from?: Date | string;
  /** End of the range, exclusive. Optional, now by default. */
  to?: Date | string;
  /** Length of a bucket. Optional, chosen by the length of the range by default. */
  bucket?: StatsBucketSize;
}

/** Response of GetStats. */
export interface GetStatsResponse {
  /** Start of the first bucket. */
  from: string;
  /** End of the last bucket. */
  to: string;
  /** Length of a bucket. */
  bucket: StatsBucketSize;
  /** Everything up to this time is counted. */
  asOf: string;
  /** Totals of all buckets. */
  totals: StatsCounts;
  /** The buckets, in order of time. */
  buckets: StatsBucket[];
  /** The receiving sites, ordered by the amount of mail, highest first. */
  sites: StatsSite[];
}

/** Length of a bucket. */
export type StatsBucketSize =
  | "STATS_BUCKET_SIZE_UNSPECIFIED"
  | "STATS_BUCKET_SIZE_HOUR"
  | "STATS_BUCKET_SIZE_SIX_HOURS"
  | "STATS_BUCKET_SIZE_DAY";
