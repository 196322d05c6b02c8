/** The event of a test delivery, as it is posted and as the log of deliveries shows it. Called by service.ts. */
import type { StoredEvent } from "../events/store.ts";
import { sampleMetadata, samplePayload } from "./rules/sample.ts";
import type { Delivery } from "./store/deliveries.ts";

/** It is computed from the delivery's columns, so that it does not have to be stored. */
export function sampleEvent(test: Pick<Delivery, "eventId" | "eventType" | "eventAt" | "emailId">): StoredEvent {
  const { eventId: id, eventType: type, eventAt: createdAt, emailId } = test;
  const messageId = emailId && `<${emailId}@example.org>`;
  const payload = samplePayload(type) ?? {};
  return { number: "", id, type, emailId, messageId, metadata: { ...sampleMetadata }, payload, createdAt };
}
