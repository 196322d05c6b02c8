/** The options that select emails: every filter of ListEmails. Used by posthorn emails list, count and export. */
import type { JsonObject } from "@bufbuild/protobuf";
import { type Option, UsageError } from "../command.ts";
import { readChoice, readTime } from "./read-options.ts";

const statuses = ["queued", "processing", "sent", "failed"];
const outcomes = [
  ...["complained", "bounced", "failed", "suppressed", "delayed", "queued", "canceled", "sent", "delivered"],
];

export const filterOptions = {
  status: { type: "string", help: `only this status: ${statuses.join(", ")}` },
  outcome: { type: "string", many: true, help: `only this outcome: ${outcomes.join(", ")}; repeatable` },
  recipient: { type: "string", help: "only emails to this address" },
  domain: { type: "string", help: "only emails from this sending domain" },
  destination: { type: "string", help: "only emails to this domain of recipients" },
  site: { type: "string", help: "only emails to this receiving site, such as google.com" },
  metadata: { type: "string", help: "only emails with this metadata: name or name=value" },
  key: { type: "string", help: "only emails that the key with this id sent" },
  open: { type: "boolean", help: "only emails with recipients that are not finished" },
  after: {
    type: "string",
    help: "only emails from this time on: 2026-11-01, 2026-11-01T12:00:00Z, or 24h for the last day",
  },
  before: { type: "string", help: "only emails before this time" },
  search: { type: "string", help: "an email id, a Message-ID, or words of the subject and of addresses" },
} satisfies Record<string, Option>;

export function filterFrom(
  options: Record<string, string | boolean | undefined>,
  lists: Record<string, string[]>,
): JsonObject {
  const text = (name: string) => String(options[name] ?? "");
  const [metadataKey = "", ...rest] = text("metadata").split("=");
  if (options.metadata !== undefined && metadataKey === "")
    throw new UsageError(`--metadata must be a name or name=value, not ${JSON.stringify(options.metadata)}`);
  const [createdAfter, createdBefore] = [readTime("after", options.after), readTime("before", options.before)];
  return {
    ...(options.status !== undefined && { status: readChoice("status", text("status"), "EMAIL_STATUS_", statuses) }),
    outcomes: (lists.outcome ?? []).map((word) => readChoice("outcome", word, "EMAIL_OUTCOME_", outcomes)),
    recipient: text("recipient"),
    domain: text("domain"),
    destination: text("destination"),
    site: text("site"),
    metadataKey,
    metadataValue: rest.join("="),
    keyId: text("key"),
    open: options.open === true,
    ...(createdAfter !== undefined && { createdAfter }),
    ...(createdBefore !== undefined && { createdBefore }),
    search: text("search"),
  };
}
