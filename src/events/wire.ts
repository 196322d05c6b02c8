/** Converts stored events to messages of the contract. The payload is stored in the JSON form of the contract, so that nothing is lost.
 * Called by service.ts and by webhooks. */
import { create, fromJson, type JsonObject } from "@bufbuild/protobuf";
import { StreamEventsResponseSchema } from "../gen/v1/email_pb.ts";
import { type Event, EventSchema } from "../gen/v1/event_pb.ts";
import { encodeMessage, type StreamForm } from "../http/stream-output.ts";
import { toWireId } from "../postgres/ids.ts";
import type { StoredEvent } from "./store.ts";

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
  "email.unsubscribed",
  "domain.updated",
  "domain.report",
  "webhook.disabled",
  "workspace.quota",
  "workspace.warning",
  "workspace.suspended",
  "workspace.resumed",
  "workspace.alert",
  "key.expiring",
] as const;

/** Fields with the text of inbound mail. Only keys with full permission get them. */
const inboundTextFields = ["body", "newText", "html"];

/** A cache: the streams of a node share events, so each event is converted once per form. */
const converted = { full: new WeakMap<StoredEvent, Event>(), withoutText: new WeakMap<StoredEvent, Event>() };

/** Whether the event has the text of inbound mail. */
export function isInbound({ type }: StoredEvent): boolean {
  return type === "email.replied" || type === "email.received";
}

export function eventOnWire(event: StoredEvent, options: { inboundText: boolean }): Event {
  const known = options.inboundText || !isInbound(event) ? converted.full : converted.withoutText;
  let wire = known.get(event);
  if (!wire) {
    const payload = { ...event.payload };
    if (known === converted.withoutText) for (const field of inboundTextFields) delete payload[field];
    wire = toWire(event, payload);
    known.set(event, wire);
  }
  return wire;
}

/** The message of a stream with this event, as a stream of this form sends it. */
export function encodeEvent(
  event: StoredEvent,
  options: { cursor: string; inboundText: boolean; form: StreamForm },
): Uint8Array {
  const message = create(StreamEventsResponseSchema, { cursor: options.cursor, event: eventOnWire(event, options) });
  return encodeMessage(StreamEventsResponseSchema, message, options.form);
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
