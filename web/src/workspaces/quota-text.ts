/** Names of quotas and their amounts in words. The workspace page and the event log use them. */
import { QuotaKind } from "../../../src/gen/v1/event_pb.ts";

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
  [QuotaKind.EMAILS_PER_HOUR]: "New emails are refused until the count resets.",
  [QuotaKind.EMAILS_PER_DAY]: "New emails are refused until the count resets.",
  [QuotaKind.STORED_BYTES]:
    "New emails and inbound messages are refused until old content is deleted after its retention period. Ask the operator for more.",
  [QuotaKind.INBOUND_PER_HOUR]: "Senders get a temporary error and retry until the count resets.",
  [QuotaKind.DOMAINS]: "To add another domain, delete one or ask the operator for more.",
  [QuotaKind.KEYS]: "To create another API key, revoke one or ask the operator for more.",
  [QuotaKind.WEBHOOKS]: "To create another webhook, delete one or ask the operator for more.",
  [QuotaKind.MEMBERS]: "To invite another member, remove a member, revoke an invitation or ask the operator for more.",
  [QuotaKind.STREAMS]: "To open another event stream, close one or ask the operator for more.",
};

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
