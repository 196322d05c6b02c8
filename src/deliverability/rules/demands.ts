/** The table of demands: what Gmail, Yahoo and Microsoft publish about mail that they accept, one row per check. judge.ts applies a rule to each
 * row, and docs/preflight.md shows the table. */

export const receivers = ["gmail", "yahoo", "microsoft"] as const;
export type MailReceiver = (typeof receivers)[number];

/** The pages that state the demands, with the date of the wording that the rules follow. */
export const sources = {
  gmail: { receiver: "gmail", url: "https://support.google.com/mail/answer/81126", published: "2026-03-21" },
  gmailSize: { receiver: "gmail", url: "https://support.google.com/mail/answer/6584", published: "2017-03-01" },
  yahoo: { receiver: "yahoo", url: "https://senders.yahooinc.com/best-practices/", published: "2025-04-10" },
  yahooFaq: { receiver: "yahoo", url: "https://senders.yahooinc.com/faqs/", published: "2025-08-02" },
  microsoft: { receiver: "microsoft", url: "https://postmaster.live.com/pm/policies.aspx", published: "2026-06-15" },
  microsoftJunk: {
    receiver: "microsoft",
    url: "https://postmaster.live.com/pm/junkemail.aspx",
    published: "2025-09-22",
  },
  microsoftBulk: {
    receiver: "microsoft",
    url: "https://techcommunity.microsoft.com/blog/microsoftdefenderforoffice365blog/strengthening-email-ecosystem-outlook%E2%80%99s-new-requirements-for-high%E2%80%90volume-senders/4399730",
    published: "2025-08-02",
  },
  microsoftSize: {
    receiver: "microsoft",
    url: "https://help.outlook.com/en-us/140/dd630704.aspx",
    published: "2012-05-16",
  },
} as const satisfies Record<string, { receiver: MailReceiver; url: string; published: string }>;

export type Source = keyof typeof sources;

/** `required` of all senders, `required-bulk` of bulk senders and recommended to others, `recommended` to all. */
export type Level = "required" | "required-bulk" | "recommended";

export type Demand = {
  title: string;
  by: Partial<Record<Source, Level>>;
  /** The worst result. By default, a check fails if a receiver requires it for this kind of mail, and warns otherwise. */
  worst?: "fail" | "warn";
  /** The result depends on the caller's own email, so that Posthorn's sample proves nothing. */
  needsSample?: true;
  /** No check can decide it, so it does not count in the overall result. */
  isReminder?: true;
};

const rfc: Demand["by"] = { gmail: "required", yahoo: "required", microsoft: "required" };

/** In the order in which a sender fixes them: what stops all mail comes first. */
export const demands = {
  accepted: { title: "Posthorn accepts the message", by: {}, worst: "fail", needsSample: true },
  dkim: {
    title: "DKIM signature",
    by: { gmail: "required", yahoo: "required", microsoftBulk: "required-bulk" },
  },
  "dkim-key": { title: "DKIM key length", by: { gmail: "required", yahoo: "recommended" } },
  spf: {
    title: "SPF passes",
    by: { gmail: "required-bulk", yahoo: "required-bulk", microsoftBulk: "required-bulk" },
  },
  alignment: {
    title: "From is aligned",
    by: { gmail: "required-bulk", yahoo: "required-bulk", microsoftBulk: "required-bulk" },
  },
  dmarc: {
    title: "DMARC policy",
    by: { gmail: "required-bulk", yahoo: "required-bulk", microsoftBulk: "required-bulk" },
  },
  "dmarc-reports": { title: "DMARC reports", by: { gmail: "recommended", yahoo: "recommended" } },
  "from-domain": { title: "From is your own domain", by: { gmail: "required" }, needsSample: true },
  ptr: { title: "Reverse DNS", by: rfc },
  helo: { title: "HELO name", by: { yahoo: "required", microsoft: "required" } },
  tls: { title: "TLS when sending", by: { gmail: "required" } },
  "blocklist-address": { title: "Addresses on blocklists", by: { gmail: "recommended" }, worst: "fail" },
  "blocklist-domain": { title: "Domain on blocklists", by: {}, worst: "fail" },
  "one-click": {
    title: "One-click unsubscribe",
    by: { gmail: "required-bulk", yahoo: "required-bulk", microsoftJunk: "recommended" },
    needsSample: true,
  },
  "unsubscribe-link": {
    title: "Unsubscribe link in the text",
    by: { gmail: "required-bulk", yahoo: "required-bulk", microsoft: "required-bulk" },
    needsSample: true,
  },
  "single-fields": { title: "Header fields occur once", by: rfc },
  "from-address": { title: "One address in From", by: rfc },
  date: { title: "Date", by: rfc },
  "message-id": { title: "Message-ID", by: rfc },
  "line-length": { title: "Line length", by: rfc },
  "header-encoding": { title: "Header encoding", by: rfc },
  size: {
    title: "Message size",
    by: { gmailSize: "required", yahooFaq: "required", microsoftSize: "required" },
    needsSample: true,
  },
  "text-part": { title: "Text next to HTML", by: {}, worst: "warn", needsSample: true },
  "hidden-content": { title: "No hidden content", by: { gmail: "recommended" }, needsSample: true },
  "reply-prefix": { title: "Honest subject", by: { gmail: "recommended", yahoo: "recommended" }, needsSample: true },
  "reply-address": { title: "Address for replies", by: { microsoftBulk: "recommended" } },
  "spam-rate": { title: "Spam reports", by: { gmail: "required", yahoo: "required" }, isReminder: true },
  "spam-filter": { title: "Spam filter", by: {}, worst: "fail", needsSample: true },
} as const satisfies Record<string, Demand>;

export type CheckId = keyof typeof demands;

export const checkIds = Object.keys(demands) as CheckId[];

/** One receiver's demand for this kind of mail. */
export type StatedDemand = {
  receiver: MailReceiver;
  required: boolean;
  bulkOnly: boolean;
  url: string;
  published: string;
};

export function statedBy(id: CheckId, bulk: boolean): StatedDemand[] {
  const { by }: Demand = demands[id];
  return (Object.entries(by) as [Source, Level][]).map(([source, level]) => ({
    ...sources[source],
    required: level === "required" || (level === "required-bulk" && bulk),
    bulkOnly: level === "required-bulk",
  }));
}

/** The worst result that this check may have for this kind of mail. */
export function worstOf(id: CheckId, bulk: boolean): "fail" | "warn" {
  const { worst }: Demand = demands[id];
  return worst ?? (statedBy(id, bulk).some(({ required }) => required) ? "fail" : "warn");
}
