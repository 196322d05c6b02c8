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
  /**
   * Share of the recipients with a final outcome whose mail server or relay accepted the email:
   * (delivered + sent) / (delivered + sent + bounced + failed). From 0 to 1. Absent when there are none.
   */
  deliveredRate?: number;
  /**
   * Share of the recipients that a mail server accepted or rejected that bounced: bounced / (delivered + sent + bounced). From 0 to 1.
   * Absent when there are none.
   */
  bounceRate?: number;
  /**
   * Complaints per accepted recipient: complained / (delivered + sent). Complaints can arrive days later, so that in a short range it
   * can exceed 1. Absent when nothing was delivered or sent.
   */
  complaintRate?: number;
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
  /**
   * Only delivered, sent, bounced, delayed, complained and the delivery times, which come from events of recipients that a mail server
   * answered. The others are 0.
   */
  counts: StatsCounts;
}

/** Counts for one value of a dimension. */
export interface StatsGroup {
  /** The value: a domain, a site, the id of a key, or a metadata value. Empty for mail without a key, and for `other`. */
  value: string;
  /** The name of the key, when grouped by key. */
  name: string;
  /**
   * True: the sum of the values that have no group of their own. Each hour counts the 100 values with the most mail by name (20 sites),
   * and at most 100 groups are listed. Values longer than 200 characters are counted here.
   */
  other: boolean;
  /** The counts. Delivery times only for sites. */
  counts: StatsCounts;
}

/** Published limits of rates. Gmail and Yahoo publish those of complaints, docs/insight.md names the sources. */
export interface StatsLimits {
  /** A bounce rate below this is good. */
  bounceTarget: number;
  /** A bounce rate above this harms delivery. */
  bounceLimit: number;
  /** A complaint rate below this is good. */
  complaintTarget: number;
  /** Gmail and Yahoo reject or filter mail of senders whose complaint rate reaches this. */
  complaintLimit: number;
}

/** An alert that is raised: a rate of the last 24 hours is above its threshold. Mail of test keys does not count. */
export interface StatsAlert {
  /** `bounces` or `complaints`. */
  figure: string;
  /** The rate when the alert was raised. */
  rate: number;
  /** The threshold of the workspace at that time. */
  threshold: number;
  /** The number of bounces or complaints. */
  count: number;
  /** The number of recipients that they are counted over. */
  recipients: number;
  /** When it was raised. */
  raisedAt: string;
  /** The figures and the threshold, in a sentence. */
  message: string;
}

/**
 * When an alert about a rate of the last 24 hours is raised: an event `workspace.alert` and an email to the owners, once, and again
 * only after the rate was below four fifths of the threshold. At least three bounces or complaints are needed. Mail of test keys does
 * not count.
 */
export interface RateAlert {
  /** True: no alert. */
  disabled: boolean;
  /** The threshold, from 0 to 1. */
  rate: number;
  /** An alert needs at least so many recipients in the last 24 hours. */
  minimumRecipients: number;
}

/** Settings of statistics and alerts of a workspace. */
export interface StatsSettings {
  /** The metadata keys by which mail is counted. */
  metadataKeys: string[];
  /** When an alert about the bounce rate is raised. */
  bounceAlert: RateAlert;
  /** When an alert about the complaint rate is raised. */
  complaintAlert: RateAlert;
}

/** Request of GetStats. */
export interface GetStatsRequest {
  /** Start of the range. Optional, 24 hours before `to` by default. */
  from?: Date | string;
  /** End of the range, exclusive. Optional, now by default. */
  to?: Date | string;
  /** Length of a bucket. Optional, chosen by the length of the range by default. */
  bucket?: StatsBucketSize;
  /** What to group the counts by. Optional. */
  groupBy?: StatsDimension;
  /** The metadata key to group by. Required with `STATS_DIMENSION_METADATA`, and only with it. */
  metadataKey?: string;
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
  /** The groups of `groupBy`, ordered by the amount of mail, highest first, `other` last. Empty without `groupBy`. */
  groups: StatsGroup[];
  /** The limits to compare the rates with. */
  limits: StatsLimits;
  /** The alerts that are raised now. */
  alerts: StatsAlert[];
}

/** Request of GetStatsSettings. */
export interface GetStatsSettingsRequest {
}

/** Response of GetStatsSettings. */
export interface GetStatsSettingsResponse {
  /** The settings. */
  settings: StatsSettings;
}

/** A list of metadata keys. */
export interface MetadataKeys {
  /** The keys, at most three. */
  keys?: string[];
}

/** When an alert is to be raised. */
export interface RateAlertChange {
  /** True: no alert. */
  disabled?: boolean;
  /** The threshold, from 0 to 1. 0: the default, which is the limit in StatsLimits. */
  rate?: number;
  /** An alert needs at least so many recipients in the last 24 hours. 0: the default, 100 for bounces and 300 for complaints. */
  minimumRecipients?: number;
}

/** Request of UpdateStatsSettings. */
export interface UpdateStatsSettingsRequest {
  /** The metadata keys by which mail is counted. Not set: unchanged. An empty list: none. */
  metadataKeys?: MetadataKeys;
  /** When an alert about the bounce rate is raised. Not set: unchanged. */
  bounceAlert?: RateAlertChange;
  /** When an alert about the complaint rate is raised. Not set: unchanged. */
  complaintAlert?: RateAlertChange;
}

/** Response of UpdateStatsSettings. */
export interface UpdateStatsSettingsResponse {
  /** The settings after the change. */
  settings: StatsSettings;
}

/** Length of a bucket. */
export type StatsBucketSize =
  | "STATS_BUCKET_SIZE_UNSPECIFIED"
  | "STATS_BUCKET_SIZE_HOUR"
  | "STATS_BUCKET_SIZE_SIX_HOURS"
  | "STATS_BUCKET_SIZE_DAY";

/** What to group the counts by. */
export type StatsDimension =
  | "STATS_DIMENSION_UNSPECIFIED"
  | "STATS_DIMENSION_DOMAIN"
  | "STATS_DIMENSION_SITE"
  | "STATS_DIMENSION_KEY"
  | "STATS_DIMENSION_METADATA";
