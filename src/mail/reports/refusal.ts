/** Why a DMARC or TLS report cannot be used. The reasons are a label of a metric; the message goes to the sender of the report. */

export const reportReasons = ["unreadable", "too_large", "invalid"] as const;
export type ReportReason = (typeof reportReasons)[number];

export class ReportProblem extends Error {
  readonly reason: ReportReason;

  /** `message` is a clause in ASCII without line ends, as an SMTP reply needs it. */
  constructor(reason: ReportReason, message: string) {
    super(message);
    this.name = "ReportProblem";
    this.reason = reason;
  }
}
