/** Reads abuse reports (ARF, RFC 5965), which receivers send when a recipient marks a message as spam. Called by message/digest.ts. */
import { type Field, fieldOf, type ReadMessage } from "../message/read.ts";
import { parseMessageIds } from "../message-id.ts";
import { copyField, findTokens } from "../return-path.ts";
import { fieldGroups, headerFields, typedAddress } from "./fields.ts";

export type ComplaintReport = {
  kind: "complaint";
  feedbackType: string;
  userAgent: string;
  /** When the message arrived, according to the receiver. */
  arrivedAt: string | undefined;
  /** The recipients who complained, according to the report. They can be forged, and many reports omit them. */
  recipients: string[];
  /** The Message-ID of the reported copy; empty if the report has none. Only a hint: it can be forged. */
  originalMessageId: string;
  /** The local parts in the report with the form of our return paths, the likeliest first. A valid token in one of them proves which
   * recipient got the reported copy. */
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
    originalMessageId: parseMessageIds(fieldOf(header, "message-id"), 1)[0] ?? "",
    returnPaths: returnPathsIn(fields, header),
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

/** First the fields of the copy that name it: a copy that was forwarded may have other return paths in its Received fields. */
function returnPathsIn(fields: readonly Field[], header: readonly Field[]): string[] {
  const named = [copyField.toLowerCase(), "return-path"].map((name) => fieldOf(header, name));
  const others = [...fields, ...header].map(({ value }) => value);
  return [...new Set(findTokens([...named, ...others].join("\n").toLowerCase()))].slice(0, 20);
}
