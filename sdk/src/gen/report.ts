// Generated from the contract in proto/ by "npm run generate": the types of v1/report.proto. Do not edit.
/** Counts of messages in the name of a domain, from DMARC reports. */
export interface DmarcCounts {
  /** Number of messages that the reports count. */
  messages: number;
  /** Number of messages that passed DMARC: DKIM or SPF passed and is aligned. */
  aligned: number;
  /** Number of messages with an aligned DKIM signature. */
  dkimAligned: number;
  /** Number of messages with an aligned SPF result. */
  spfAligned: number;
  /** Number of messages that receivers delivered without a restriction by the policy. */
  delivered: number;
  /** Number of messages that receivers put into quarantine, for example the spam folder. */
  quarantined: number;
  /** Number of messages that receivers rejected. */
  rejected: number;
}

/** Counts of one day. */
export interface DmarcDay {
  /** Start of the day, UTC. A report counts on the day on which its period begins. */
  start: string;
  /** The counts. */
  counts: DmarcCounts;
}

/** The next step of a domain toward `p=reject`. */
export interface DmarcProgress {
  /** The policy that receivers apply to the domain now: `none`, `quarantine` or `reject`. Empty when no policy was found. */
  policy: string;
  /** The name in DNS that holds this policy: the domain's own `_dmarc` name or that of a parent. Empty when no policy was found. */
  policyName: string;
  /** The next step. */
  step: DmarcStep;
  /** The next step, in a sentence or two with the numbers that it is based on. */
  message: string;
  /** Name of the record to publish for the next step. Empty when the step changes no record. */
  recordName: string;
  /** Value of the record to publish. It keeps the other tags of the current record. */
  recordValue: string;
  /** Number of days with reports within the last 30 days. */
  daysReported: number;
  /** Counts of the last 30 days, which the next step is based on. */
  recent: DmarcCounts;
}

/** Mail of one address in the name of the domain. */
export interface DmarcSource {
  /**
   * The IP address that delivered the mail to the receiver. Empty for the addresses past the limits on stored addresses (docs/limits.md),
   * which are counted together.
   */
  ip: string;
  /** Host name of the address from reverse DNS, if the name resolves back to the address. Empty otherwise, or when it is not known yet. */
  host: string;
  /** True: the address belongs to this service. */
  own: boolean;
  /** The counts. */
  counts: DmarcCounts;
  /** The domains in From that this address used, at most 10. */
  headerFrom: string[];
  /** The domains that signed with DKIM, aligned or not, at most 10. */
  dkimDomains: string[];
  /** The domains of SPF (MAIL FROM), aligned or not, at most 10. */
  spfDomains: string[];
  /** The reporters that saw this address, at most 10. */
  reporters: string[];
  /** Start of the first day on which the address was reported for this domain, within the retention period. */
  firstSeenAt: string;
  /** Start of the last day on which the address was reported. */
  lastSeenAt: string;
  /** Reasons that receivers gave for not applying the policy, such as `mailing_list` or `trusted_forwarder`, at most 10. */
  overrides: string[];
}

/** One report that arrived. */
export interface Report {
  /** Identifier of the report, `rep_` and a UUID. */
  id: string;
  /** Kind of the report. */
  kind: ReportKind;
  /** Name of the organization that wrote the report, as it calls itself. */
  organization: string;
  /**
   * The domain that the report was authenticated for: DMARC passed for the message that carried it. Empty when the report is
   * not authenticated.
   */
  authenticatedDomain: string;
  /** `mail` or `https`. Reports by HTTPS are not authenticated: anyone can write one. */
  via: string;
  /** The reporter's own identifier of the report. */
  reportId: string;
  /** Start of the period of the report. */
  beginAt: string;
  /** End of the period of the report. */
  endAt: string;
  /** When the report arrived. */
  receivedAt: string;
  /** Number of messages (DMARC) or sessions (TLS) that the report counts. */
  total: number;
  /** Number of messages that failed DMARC, or of sessions that failed. */
  failed: number;
}

/** Counts of TLS sessions of senders with the domain's mail servers. */
export interface TlsCounts {
  /** Number of sessions that used TLS as the policy demands. */
  succeeded: number;
  /** Number of sessions that failed. */
  failed: number;
}

/** Counts of one day. */
export interface TlsDay {
  /** Start of the day, UTC. A report counts on the day on which its period begins. */
  start: string;
  /** The counts of authenticated reports. */
  counts: TlsCounts;
  /** The counts of reports that are not authenticated. */
  unauthenticated: TlsCounts;
}

/** One kind of failure that senders reported. */
export interface TlsFailure {
  /** The result type of RFC 8460 §4.3, for example `certificate-expired` or `starttls-not-supported`. */
  resultType: string;
  /** What it means and what to do, in a sentence. */
  explanation: string;
  /** The organization that reported it, as it calls itself. */
  organization: string;
  /** The policy that was applied: `tlsa`, `sts` or `no-policy-found`. */
  policyType: string;
  /** The address of the sending mail server. Empty when the report does not name it. */
  sendingIp: string;
  /** The mail server of the domain that the session was with. Empty when the report does not name it. */
  receivingMx: string;
  /** Number of sessions that failed in this way. */
  sessions: number;
  /** True: the report is authenticated. */
  authenticated: boolean;
  /** Start of the last day on which it was reported. */
  lastSeenAt: string;
}

/** Request of GetDmarcSummary. */
export interface GetDmarcSummaryRequest {
  /** Id of the domain. Required. */
  domainId: string;
  /** Start of the time range. Optional, 30 days before `to` by default. */
  from?: Date | string;
  /** End of the time range. Optional, now by default. */
  to?: Date | string;
}

/** Response of GetDmarcSummary. */
export interface GetDmarcSummaryResponse {
  /** Counts of the whole range. */
  total: DmarcCounts;
  /** Counts per day, oldest first, days without reports included with zeros. */
  days: DmarcDay[];
  /** The next step toward `p=reject`. */
  progress: DmarcProgress;
  /** Number of organizations whose reports are counted. */
  reporters: number;
  /** Number of addresses that sent mail in the name of the domain, without those that are counted together. */
  sources: number;
  /** When the last report arrived. Absent when none has arrived. */
  lastReportAt?: string;
  /** The address that receives the reports, as it appears in the suggested record. */
  reportAddress: string;
}

/** Request of ListDmarcSources. */
export interface ListDmarcSourcesRequest {
  /** Id of the domain. Required. */
  domainId: string;
  /** Start of the time range. Optional, 30 days before `to` by default. */
  from?: Date | string;
  /** End of the time range. Optional, now by default. */
  to?: Date | string;
  /** True: only sources with mail that failed DMARC. */
  unalignedOnly?: boolean;
  /** Number of sources per page. Default: 20, at most 100. */
  pageSize?: number;
  /** `nextPageToken` of the previous page. Empty for the first page. */
  pageToken?: string;
}

/** Response of ListDmarcSources. */
export interface ListDmarcSourcesResponse {
  /** The sources. */
  data: DmarcSource[];
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** Request of ListReports. */
export interface ListReportsRequest {
  /** Id of the domain. Required. */
  domainId: string;
  /** Only reports of this kind. Optional. */
  kind?: ReportKind;
  /** Number of reports per page. Default: 20, at most 100. */
  pageSize?: number;
  /** `nextPageToken` of the previous page. Empty for the first page. */
  pageToken?: string;
}

/** Response of ListReports. */
export interface ListReportsResponse {
  /** The reports. */
  data: Report[];
  /** Pass it as `pageToken` to get the next page. Empty on the last page. */
  nextPageToken: string;
}

/** Request of GetTlsSummary. */
export interface GetTlsSummaryRequest {
  /** Id of the domain. Required. */
  domainId: string;
  /** Start of the time range. Optional, 30 days before `to` by default. */
  from?: Date | string;
  /** End of the time range. Optional, now by default. */
  to?: Date | string;
}

/** Response of GetTlsSummary. */
export interface GetTlsSummaryResponse {
  /** Counts of authenticated reports of the whole range. */
  total: TlsCounts;
  /** Counts of reports that are not authenticated. Anyone can write such a report. */
  unauthenticated: TlsCounts;
  /** Counts per day, oldest first, days without reports included with zeros. */
  days: TlsDay[];
  /** What failed, the most frequent first, at most 100 entries. */
  failures: TlsFailure[];
  /** When the last report arrived. Absent when none has arrived. */
  lastReportAt?: string;
  /** Name of the record that asks senders for reports: `_smtp._tls` and the domain. */
  recordName: string;
  /** Value of that record. */
  recordValue: string;
}

/** Kind of a report. */
export type ReportKind =
  | "REPORT_KIND_UNSPECIFIED"
  | "REPORT_KIND_DMARC"
  | "REPORT_KIND_TLS";

/** The next step toward a DMARC policy that protects the domain. */
export type DmarcStep =
  | "DMARC_STEP_UNSPECIFIED"
  | "DMARC_STEP_PUBLISH"
  | "DMARC_STEP_ADD_REPORTS"
  | "DMARC_STEP_WAIT"
  | "DMARC_STEP_FIX_SOURCES"
  | "DMARC_STEP_QUARANTINE"
  | "DMARC_STEP_REJECT"
  | "DMARC_STEP_DONE";
