/** Reads bounces: delivery status notifications (RFC 3464), with bounce-text.ts as the fallback. Called by message/digest.ts. */

import { type Field, fieldOf, type ReadMessage } from "../message/read.ts";
import { readBounceText } from "./bounce-text.ts";
import {
  type BouncedRecipient,
  type DsnAction,
  dsnActions,
  fieldGroups,
  headerFields,
  typedAddress,
} from "./fields.ts";

export type BounceReport = {
  kind: "bounce";
  recipients: BouncedRecipient[];
  /** The Message-ID of the returned message. Only a hint: it can be forged. */
  originalMessageId: string;
};

/** Returns undefined if the message is not a bounce. */
export function readBounce(message: ReadMessage, sender: string): BounceReport | undefined {
  const status = message.parts.find((part) => statusTypes.has(part.contentType));
  const original = headerFields(
    message.parts.find((part) => returnedTypes.has(part.contentType))?.content ?? Buffer.alloc(0),
  );
  const fromStatus = status ? readStatus(status.content) : [];
  // A report without usable status fields may still have a readable text.
  const recipients = fromStatus.length > 0 ? fromStatus : readBounceText(message, sender);
  if (recipients.length === 0) return undefined;
  return {
    kind: "bounce",
    recipients: recipients.slice(0, maxRecipients),
    originalMessageId: fieldOf(original, "message-id"),
  };
}

const statusTypes = new Set(["message/delivery-status", "message/global-delivery-status"]);
const returnedTypes = new Set(["message/rfc822", "message/global", "text/rfc822-headers", "message/global-headers"]);
const maxRecipients = 200;

/** RFC 3464 §2.1: fields about the message, then one group per recipient. Some servers omit the first group. */
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
  const actionField = fieldOf(group, "action").toLowerCase();
  const action = dsnActions.find((one) => actionField.startsWith(one)) ?? actionOf(status);
  return {
    addresses: [...new Set(addresses)],
    action,
    status,
    diagnostic: withoutType(fieldOf(group, "diagnostic-code")) || withoutType(fieldOf(group, "x-supplementary-info")),
    remoteMta: withoutType(fieldOf(group, "remote-mta")) || withoutType(fieldOf(general, "reporting-mta")),
  };
}

function actionOf(status: string): DsnAction {
  return status.startsWith("5") ? "failed" : status.startsWith("4") ? "delayed" : "delivered";
}

/** Removes the type of a value such as `smtp; 550 …` or `dns; mx.example.com`. */
function withoutType(value: string): string {
  return value
    .replace(/^\s*(?:[a-z0-9-]+)\s*;\s*/i, "")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 1000);
}
