// Generated from the contract in proto/ by "npm run generate": the types of v1/deliverability.proto. Do not edit.
import type { SendEmailRequest } from "./email.ts";

/** Where a receiver publishes a demand. */
export interface DeliverabilityDemand {
  /** The receiver. */
  receiver: MailReceiver;
  /** True: the receiver requires it for this kind of mail. False: it recommends it. */
  required: boolean;
  /** True: the receiver requires it only of senders of bulk mail. */
  bulkOnly: boolean;
  /** The page that states it. */
  url: string;
  /** The date of the wording that this version of Posthorn follows, for example `2026-03-21`. */
  published: string;
}

/** A DNS record to publish. */
export interface DeliverabilityRecord {
  /** Type of the record, for example `TXT`. */
  type: string;
  /** Full name of the record. */
  name: string;
  /** Value of the record. */
  value: string;
}

/** One check and its result. */
export interface DeliverabilityCheck {
  /** Identifier of the check, for example `dmarc`. */
  id: string;
  /** What is checked, in a few words. */
  title: string;
  /** Result of the check. */
  result: DeliverabilityResult;
  /** What was found, in a sentence. */
  found: string;
  /** What to do. Empty when there is nothing to do. */
  fix: string;
  /** The receivers that state it. Empty for checks that Posthorn recommends by itself. */
  demands: DeliverabilityDemand[];
  /** DNS records to publish. Empty when no record is missing. */
  records: DeliverabilityRecord[];
}

/** The sample as it would be delivered. */
export interface DeliverabilitySample {
  /** True: no sample was given, so a plain email of Posthorn was composed. */
  isOwn: boolean;
  /** Size of the composed message in bytes. 0 when the sample could not be composed. */
  sizeBytes: number;
  /** Length of the longest line in bytes, without its line end. */
  longestLine: number;
  /** Domain of the From header. */
  fromDomain: string;
  /** Domain of the return path, which SPF is checked for. */
  returnPathDomain: string;
  /** Domain and selector of the signature, for example `ph1._domainkey.example.com`. Empty when the message is not signed. */
  signedWith: string;
}

/** The score of a spam filter. */
export interface SpamScore {
  /** Name of the filter, `rspamd` or `SpamAssassin`. */
  filter: string;
  /** Score of the sample. Higher is worse. */
  score: number;
  /** Score from which SpamAssassin marks mail as spam, and rspamd refuses it. */
  threshold: number;
  /** The rules that matched, highest score first. At most 50. */
  rules: SpamRule[];
  /** True: the filter treats the sample as spam. */
  isSpam: boolean;
}

/** A rule of a spam filter that matched. */
export interface SpamRule {
  /** Name of the rule. */
  name: string;
  /** Score of the rule; negative ones speak for the message. */
  score: number;
  /** What the rule means, in the words of the filter. May be empty. */
  description: string;
}

/** Request of CheckDeliverability. */
export interface CheckDeliverabilityRequest {
  /** Id of the domain. */
  domainId?: string;
  /** Name of the domain, in place of `domainId`. Without both, the domain of the sample's sender is checked. */
  domain?: string;
  /**
   * A sample email with the fields of SendEmail. `from` and `to` may be left out. With
   * `unsubscribe`, it gets both headers, with a link that changes nothing. It is not sent.
   */
  email?: SendEmailRequest;
  /** Id of a sent email to check in place of `email`. */
  emailId?: string;
  /** A whole message to check in place of `email`, as a program would submit it over SMTP. */
  raw?: string;
  /** True: the mail is marketing or subscribed mail, or the domain sends more than 5,000 messages a day. */
  bulk?: boolean;
}

/** Response of CheckDeliverability. */
export interface CheckDeliverabilityResponse {
  /** Id of the domain. */
  domainId: string;
  /** Name of the domain. */
  domain: string;
  /** The worst result: FAIL, then WARN, then UNKNOWN, then PASS. The check `spam-rate` does not count: only receivers know the rate. */
  result: DeliverabilityResult;
  /** Result in a sentence. */
  summary: string;
  /** All checks, in the order in which to fix them. */
  checks: DeliverabilityCheck[];
  /** The sample. */
  sample: DeliverabilitySample;
  /** The score of the operator's spam filter. Absent when none is set up or when it did not answer. */
  spam?: SpamScore;
  /** When the checks were made. */
  checkedAt: string;
}

/** Result of one check. */
export type DeliverabilityResult =
  | "DELIVERABILITY_RESULT_UNSPECIFIED"
  | "DELIVERABILITY_RESULT_PASS"
  | "DELIVERABILITY_RESULT_WARN"
  | "DELIVERABILITY_RESULT_FAIL"
  | "DELIVERABILITY_RESULT_UNKNOWN"
  | "DELIVERABILITY_RESULT_NOT_NEEDED";

/** A receiver that publishes demands. */
export type MailReceiver =
  | "MAIL_RECEIVER_UNSPECIFIED"
  | "MAIL_RECEIVER_GMAIL"
  | "MAIL_RECEIVER_YAHOO"
  | "MAIL_RECEIVER_MICROSOFT";
