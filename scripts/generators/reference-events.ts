// Writes docs/reference/events.md: the envelope, the event types with an example each, and their payloads.
import type { DescField, JsonValue } from "@bufbuild/protobuf";
import type { Contract } from "./descriptors.ts";
import { pageOf, slug, table, typeLink, typeSections } from "./reference-types.ts";
import { prose } from "./text.ts";

export interface EventType {
  /** The value of `type`, such as `email.delivered`. */
  type: string;
  meaning: string;
  /** The field of Event that holds the payload. */
  field: DescField;
}

/** The event types, read from the comments of the payload fields: a type in backquotes, a colon, its meaning. */
export function eventTypes(contract: Contract): EventType[] {
  const event = contract.types.find((type) => type.typeName === "v1.Event");
  if (event?.kind !== "message") throw new Error("the contract has no message v1.Event");
  return event.oneofs[0]!.fields.map((field) => {
    const comment = contract.comment(`v1.Event.${field.name}`);
    const [, type, meaning] = /^`([\w.]+)`: (.+)$/s.exec(comment) ?? [];
    if (!type || !meaning) throw new Error(`v1.Event.${field.name}: the comment does not begin with the event type`);
    return { type, meaning, field };
  });
}

export function eventsPage(contract: Contract, examples: Map<string, JsonValue>): string {
  const page = "events.md";
  const types = contract.types.filter((type) => pageOf(type.file) === page);
  const list = eventTypes(contract);
  return [
    "# Events",
    prose(intro),
    table(
      ["Type", "Payload", "Meaning"],
      list.map(({ type, field, meaning }) => [
        `[\`${type}\`](#${slug(type)})`,
        `\`${field.jsonName}\`: ${typeLink(field.message!, page)}`,
        meaning.charAt(0).toUpperCase() + meaning.slice(1),
      ]),
    ),
    "## Examples",
    ...list.flatMap(({ type }) => [
      `### ${type}`,
      ["```json", JSON.stringify(examples.get(type), null, 2), "```"].join("\n"),
    ]),
    "## Types",
    ...typeSections(contract, types),
  ].join("\n\n");
}

const intro = `Events report what happened to emails, inbound mail, domains and webhooks. Read them as a stream with
[EmailService.StreamEvents](email.md#streamevents) or page by page with [EmailService.ListEvents](email.md#listevents), or
receive them through webhooks, which [WebhookService.CreateWebhook](webhook.md#createwebhook) creates.

Each recipient of an email has one final outcome: delivered, sent, bounced, failed, suppressed or canceled. Before that it may be delayed
any number of times. The only later change is a bounce message for a recipient that was delivered or sent.

The events of a workspace are numbered 1, 2, 3 and so on, without gaps, in the order in which they were stored. This number is the
cursor. Every event arrives at least once: use its \`id\` to recognize duplicates.`;
