/** Reads abuse reports (ARF, RFC 5965), which receivers send when a recipient marks a message as spam. Called by message/digest.ts. */
import { fieldOf, type ReadMessage } from "../message/read.ts";
import { fieldGroups, headerFields, typedAddress } from "./fields.ts";

export type ComplaintReport = {
  kind: "complaint";
  feedbackType: string;
  userAgent: string;
  /** When the message arrived, according to the receiver. */
  arrivedAt: string | undefined;
  /** The recipients who complained. Many reports omit them. */
  recipients: string[];
  /** The To header of the original message. */
  originalTo: string[];
  /** All addresses in the report with the form of our return paths. A valid token in one of them proves that we sent the message. */
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
    arrivedAt: Number.isNaN(arrived.getTime()) || !isPlausible(arrived) ? undefined : arrived.toISOString(),
    recipients: [...all("original-rcpt-to"), ...all("removal-recipient")].filter((address) => address !== ""),
    originalTo: addressesIn(fieldOf(header, "to")),
    returnPaths: returnPathsIn([...fields, ...header].map(({ value }) => value).join("\n")),
  };
}

const returnedTypes = new Set(["message/rfc822", "text/rfc822-headers", "message/global", "message/global-headers"]);

/** RFC 3339 allows only years of four digits. */
function isPlausible(date: Date): boolean {
  return date.getUTCFullYear() >= 1970 && date.getUTCFullYear() <= 9999;
}

function word(text: string): string {
  return /^[\w-]{1,50}/.exec(text.toLowerCase())?.[0] ?? "";
}

function addressesIn(text: string): string[] {
  return [...text.slice(0, 10_000).matchAll(/[^\s<>,;:"']{1,64}@[^\s<>,;:"']{1,253}/g)].map(([a]) => a).slice(0, 100);
}

/** See return-path.ts: `rp-` and 52 characters of base32. Receivers may change the case, and some put `=` or `+` in front. */
function returnPathsIn(text: string): string[] {
  return [...new Set([...text.matchAll(/rp-[a-z2-7]{52}@[a-z0-9.-]{1,253}/gi)].map(([address]) => address))].slice(
    0,
    20,
  );
}
