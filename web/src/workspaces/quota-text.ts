/** Names of quotas and their amounts in words. The workspace page and the event log use them. */
import { QuotaKind } from "../../../src/gen/v1/event_pb.ts";
import type { Quota } from "../../../src/gen/v1/workspace_pb.ts";

/** A newer server may return kinds that this page does not know. */
export const quotaNames: Partial<Record<QuotaKind, string>> = {
  [QuotaKind.EMAILS_PER_HOUR]: "Emails per hour",
  [QuotaKind.EMAILS_PER_DAY]: "Emails per day",
  [QuotaKind.STORED_BYTES]: "Stored content",
  [QuotaKind.INBOUND_PER_HOUR]: "Inbound messages per hour",
  [QuotaKind.DOMAINS]: "Domains",
  [QuotaKind.KEYS]: "API keys",
  [QuotaKind.WEBHOOKS]: "Webhooks",
  [QuotaKind.MEMBERS]: "Members",
  [QuotaKind.STREAMS]: "Open event streams",
};

/** What happens at 100 %, and what helps. */
export const atLimit: Partial<Record<QuotaKind, string>> = {
  [QuotaKind.EMAILS_PER_HOUR]:
    "New emails are refused until the count resets. Send them then, or ask the operator for more.",
  [QuotaKind.EMAILS_PER_DAY]:
    "New emails are refused until the count resets. Send them then, or ask the operator for more.",
  [QuotaKind.STORED_BYTES]:
    "New emails and inbound messages are refused until old content is deleted after its retention period. Ask the operator for more.",
  [QuotaKind.INBOUND_PER_HOUR]: "Senders get a temporary error and retry until the count resets.",
  [QuotaKind.DOMAINS]: "To add another domain, delete one or ask the operator for more.",
  [QuotaKind.KEYS]: "To create another API key, revoke one or ask the operator for more.",
  [QuotaKind.WEBHOOKS]: "To create another webhook, delete one or ask the operator for more.",
  [QuotaKind.MEMBERS]: "To invite another member, remove a member, revoke an invitation or ask the operator for more.",
  [QuotaKind.STREAMS]: "To open another event stream, close one or ask the operator for more.",
};

/** What will happen, and what helps before it does. */
const nearLimit: Partial<Record<QuotaKind, string>> = {
  [QuotaKind.EMAILS_PER_HOUR]:
    "At 100 % new emails are refused. Send less urgent mail later, or ask the operator for more.",
  [QuotaKind.EMAILS_PER_DAY]:
    "At 100 % new emails are refused. Send less urgent mail later, or ask the operator for more.",
  [QuotaKind.STORED_BYTES]:
    "At 100 % new emails and inbound messages are refused. Send smaller attachments, or ask the operator for more.",
  [QuotaKind.INBOUND_PER_HOUR]: "At 100 % senders get a temporary error. Ask the operator for more.",
};

export type QuotaNotice = {
  /** Names the quota and the level: a new level is a new notice. */
  id: string;
  isAtLimit: boolean;
  figure: string;
  advice: string;
  resetsAt: Quota["resetsAt"];
};

/** The quotas that are used to 80 % or more, the fullest first. A quota of 0 forbids something; nothing of it is used. */
export function quotaNotices(quotas: readonly Quota[]): QuotaNotice[] {
  return quotas
    .filter(({ limit, used }) => limit !== undefined && limit > 0 && used >= 0.8 * limit)
    .sort((a, b) => b.used / b.limit! - a.used / a.limit!)
    .map(({ kind, limit = 0, used, resetsAt }) => {
      const isAtLimit = used >= limit;
      return {
        id: `${kind} ${isAtLimit ? 100 : 80}`,
        isAtLimit,
        figure: `${quotaNames[kind] ?? "A quota"}: ${usedText(kind, used, limit)}`,
        advice: isAtLimit
          ? (atLimit[kind] ?? "Further requests are refused. Ask the operator for more.")
          : (nearLimit[kind] ??
            "At 100 % further ones are refused. Delete some that you do not need, or ask the operator for more."),
        resetsAt,
      };
    });
}

/** "4 of 5 (80 %)" */
export function usedText(kind: QuotaKind, used: number, limit: number): string {
  return `${amountText(kind, used)} of ${amountText(kind, limit)} (${percentUsed(used, limit)} %)`;
}

/** At most 100, and rounded down: 100 is said only at the limit. */
export function percentUsed(used: number, limit: number): number {
  return limit === 0 ? 100 : Math.min(100, Math.floor((used * 100) / limit));
}

export function amountText(kind: QuotaKind, value: number): string {
  return kind === QuotaKind.STORED_BYTES ? bytesText(value) : wholeNumber(value);
}

const format = new Intl.NumberFormat("en-GB");

export function wholeNumber(value: number): string {
  return format.format(value);
}

export function bytesText(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : Number(value.toFixed(1))} ${units[unit]}`;
}
