/** The time of a scheduled email in the dialog that changes it: whether it can change, and the value of the field in the person's time zone. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { type Email, RecipientStatus } from "../../../src/gen/v1/email_pb.ts";

/** The server decides again, because an attempt can begin at any moment. */
export function isReschedulable({ scheduledAt, recipients }: Email, now: Date): boolean {
  const isWaiting = recipients.every(({ status, attempts }) => status === RecipientStatus.QUEUED && attempts === 0);
  return scheduledAt !== undefined && timestampDate(scheduledAt) > now && isWaiting;
}

/** The value of a field of the type datetime-local, which has no time zone. */
export function fieldValue(date: Date): string {
  const two = (n: number) => String(n).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** Undefined while the value is incomplete. */
export function fieldDate(value: string): Date | undefined {
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

const utc = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" });

/** 8 Mar 2026, 10:05 UTC */
export function utcText(date: Date): string {
  return `${utc.format(date)} UTC`;
}
