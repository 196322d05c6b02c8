/** Reads messages that say a message could not be delivered: delivery status notifications (RFC 3464), and the forms that servers made up. */
import { type Field, fieldOf, type ReadMessage } from "../message/read.ts";
import { readBounceText } from "./bounce-text.ts";
import { fieldGroups, headerFields, typedAddress } from "./fields.ts";

export const dsnActions = ["failed", "delayed", "delivered", "relayed", "expanded"] as const;
export type DsnAction = (typeof dsnActions)[number];

export type BouncedRecipient = {
  /** Who it is about, the likeliest first: the address we wrote to, or one that it was forwarded to. Empty: the report names nobody. */
  addresses: string[];
  action: DsnAction;
  /** RFC 3463, for example 5.1.1; empty where the report has none. */
  status: string;
  /** What the refusing server said, on one line. */
  diagnostic: string;
  /** The server that refused. */
  remoteMta: string;
};

export type BounceReport = {
  kind: "bounce";
  recipients: BouncedRecipient[];
  /** Of the returned message; a hint, never a proof. */
  originalMessageId: string;
};

/** Undefined: the message is something else. */
export function readBounce(message: ReadMessage, sender: string): BounceReport | undefined {
  const status = message.parts.find((part) => statusTypes.has(part.contentType));
  const original = headerFields(
    message.parts.find((part) => returnedTypes.has(part.contentType))?.content ?? Buffer.alloc(0),
  );
  const recipients = status ? readStatus(status.content) : [];
  // A report that says nothing a program can read may still say it to people.
  const spoken = recipients.length > 0 ? recipients : readBounceText(message, sender);
  if (spoken.length === 0) return undefined;
  return {
    kind: "bounce",
    recipients: spoken.slice(0, maxRecipients),
    originalMessageId: fieldOf(original, "message-id"),
  };
}

const statusTypes = new Set(["message/delivery-status", "message/global-delivery-status"]);
const returnedTypes = new Set(["message/rfc822", "message/global", "text/rfc822-headers", "message/global-headers"]);
const maxRecipients = 200;

/** RFC 3464 §2.1: fields about the message, then a group for each recipient. Some servers leave the first group out. */
function readStatus(content: Uint8Array): BouncedRecipient[] {
  const groups = fieldGroups(content);
  const general = groups.find((group) => fieldOf(group, "reporting-mta") !== "") ?? [];
  return groups.filter(isRecipient).map((group) => recipientOf(group, general));
}

function isRecipient(group: readonly Field[]): boolean {
  return ["final-recipient", "original-recipient", "action"].some((name) => fieldOf(group, name) !== "");
}

function recipientOf(group: readonly Field[], general: readonly Field[]): BouncedRecipient {
  const addresses = ["original-recipient", "final-recipient", "x-actual-recipient"]
    .map((name) => typedAddress(fieldOf(group, name)))
    .filter((address) => address !== "");
  const status = /\b([245]\.\d{1,3}\.\d{1,3})\b/.exec(fieldOf(group, "status"))?.[1] ?? "";
  const said = fieldOf(group, "action").toLowerCase();
  const action = dsnActions.find((one) => said.startsWith(one)) ?? actionOf(status);
  return {
    addresses: [...new Set(addresses)],
    action,
    status,
    diagnostic: bare(fieldOf(group, "diagnostic-code")) || bare(fieldOf(group, "x-supplementary-info")),
    remoteMta: bare(fieldOf(group, "remote-mta")) || bare(fieldOf(general, "reporting-mta")),
  };
}

function actionOf(status: string): DsnAction {
  return status.startsWith("5") ? "failed" : status.startsWith("4") ? "delayed" : "delivered";
}

/** Without its type: `smtp; 550 …`, `dns; mx.example.com`. */
function bare(value: string): string {
  return value
    .replace(/^\s*(?:[a-z0-9-]+)\s*;\s*/i, "")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 1000);
}
