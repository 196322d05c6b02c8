/** Events as the wire shows them. The payload is stored in the wire's own JSON form, so that nothing is lost or renamed on the way. */
import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { type Event, EventSchema } from "../gen/v1/event_pb.ts";
import type { StoredEvent } from "../store/events.ts";
import { toWireId } from "../store/ids.ts";

export const eventTypes = [
  "email.sent",
  "email.delivered",
  "email.delayed",
  "email.bounced",
  "email.suppressed",
  "email.failed",
  "email.canceled",
  "email.complained",
  "email.replied",
  "email.received",
  "domain.updated",
  "webhook.disabled",
] as const;

/** Texts of inbound mail need a key with full permission. */
const inboundTexts = ["body", "newText", "html"];

/** Streams of one node share their events: each is put into its wire form once per kind of key. */
const made = { full: new WeakMap<StoredEvent, Event>(), withoutText: new WeakMap<StoredEvent, Event>() };

export function eventOnWire(event: StoredEvent, options: { inboundText: boolean }): Event {
  const inbound = event.type === "email.replied" || event.type === "email.received";
  const known = options.inboundText || !inbound ? made.full : made.withoutText;
  let wire = known.get(event);
  if (!wire) {
    const payload = { ...event.payload };
    if (known === made.withoutText) for (const field of inboundTexts) delete payload[field];
    wire = toWire(event, payload);
    known.set(event, wire);
  }
  return wire;
}

function toWire(event: StoredEvent, payload: Record<string, unknown>): Event {
  return fromJson(
    EventSchema,
    {
      id: toWireId("event", event.id),
      type: event.type,
      createdAt: event.createdAt.toISOString(),
      emailId: event.emailId ? toWireId("email", event.emailId) : "",
      messageId: event.messageId ?? "",
      metadata: event.metadata,
      [payloadField(event.type)]: payload as JsonObject,
    },
    { ignoreUnknownFields: true },
  );
}

/** `email.delivered` has `delivered`, `domain.updated` has `domainUpdated`. */
function payloadField(type: string): string {
  const [kind, what] = type.split(".") as [string, string];
  return kind === "email" ? what : `${kind}${what[0]!.toUpperCase()}${what.slice(1)}`;
}
