/** Reads abuse reports (ARF, RFC 5965): somebody marked one of our messages as spam, and the receiver tells us. */
import { fieldOf, type ReadMessage } from "../message/read.ts";
import { fieldGroups, headerFields, typedAddress } from "./fields.ts";

export type ComplaintReport = {
  kind: "complaint";
  feedbackType: string;
  userAgent: string;
  /** When the receiver says that the message had come to it. */
  arrivedAt: string | undefined;
  /** Who complained, where the report tells: many leave it out. */
  recipients: string[];
  /** To whom the message was written, by its own header. */
  originalTo: string[];
  /** Everything in the report that may be a return path of ours. A token in one of them proves that we sent the message. */
  returnPaths: string[];
};

export function readComplaint(message: ReadMessage): ComplaintReport | undefined {
  const part = message.parts.find(({ contentType }) => contentType === "message/feedback-report");
  if (!part) return undefined;
  const fields = fieldGroups(part.content).flat();
  const returned = message.parts.find(({ contentType }) => returnedTypes.has(contentType));
  const header = headerFields(returned?.content ?? Buffer.alloc(0));
  const all = (name: string) => fields.filter((field) => field.name === name).map(({ value }) => typedAddress(value));
  const arrived = new Date(fieldOf(fields, "arrival-date") || fieldOf(fields, "received-date") || Number.NaN);
  return {
    kind: "complaint",
    feedbackType: word(fieldOf(fields, "feedback-type")) || "abuse",
    userAgent: fieldOf(fields, "user-agent").slice(0, 200),
    arrivedAt: Number.isNaN(arrived.getTime()) || !isSane(arrived) ? undefined : arrived.toISOString(),
    recipients: [...all("original-rcpt-to"), ...all("removal-recipient")].filter((address) => address !== ""),
    originalTo: addressesIn(fieldOf(header, "to")),
    returnPaths: ourShape([...fields, ...header].map(({ value }) => value).join("\n")),
  };
}

const returnedTypes = new Set(["message/rfc822", "text/rfc822-headers", "message/global", "message/global-headers"]);

/** RFC 3339 knows years of four digits only. */
function isSane(date: Date): boolean {
  return date.getUTCFullYear() >= 1970 && date.getUTCFullYear() <= 9999;
}

function word(text: string): string {
  return /^[\w-]{1,50}/.exec(text.toLowerCase())?.[0] ?? "";
}

function addressesIn(text: string): string[] {
  return [...text.slice(0, 10_000).matchAll(/[^\s<>,;:"']{1,64}@[^\s<>,;:"']{1,253}/g)].map(([a]) => a).slice(0, 100);
}

/** See return-path.ts: `rp-` and 52 characters of base32. Receivers change case, and some write `=` or `+` before it. */
function ourShape(text: string): string[] {
  return [...new Set([...text.matchAll(/rp-[a-z2-7]{52}@[a-z0-9.-]{1,253}/gi)].map(([address]) => address))].slice(
    0,
    20,
  );
}
