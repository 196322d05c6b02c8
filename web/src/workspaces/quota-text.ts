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
