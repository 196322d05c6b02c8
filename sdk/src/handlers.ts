/** Hands an event to the handler of its type: the same names for the stream and for webhooks. */
import { type Event, payloadFields } from "./gen/event.ts";

type PayloadFields = typeof payloadFields;
export type EventType = keyof PayloadFields;

/** The event of one type: `EventOf<"email.delivered">` has `delivered`. */
export type EventOf<T extends EventType> = Extract<Event, { type: T }>;

/** A handler for each type: `onDelivered`, `onBounced`, `onReplied`, `onDomainUpdated` and so on. */
export type TypeHandlers = {
  [T in EventType as `on${Capitalize<PayloadFields[T]>}`]?: (event: EventOf<T>) => unknown;
};

export interface EventHandlers extends TypeHandlers {
  /** Sees every event, after the handler of its type; types that this version does not know come only here. */
  onEvent?: (event: Event) => unknown;
  /** Sees what a handler threw, with its event, and what went wrong on the way to you, without one. */
  onError?: (error: unknown, event?: Event) => unknown;
}

/** Waits for the handlers; what they throw is the caller's to treat. */
export async function handOver(event: Event, handlers: EventHandlers): Promise<void> {
  const field: string | undefined = payloadFields[event.type];
  const handler = field && (handlers as Record<string, ((event: Event) => unknown) | undefined>)[nameFor(field)];
  if (handler) await handler(event);
  await handlers.onEvent?.(event);
}

/** The types that somebody handles; empty when that is all of them. */
export function handledTypes(handlers: EventHandlers): EventType[] {
  if (handlers.onEvent) return [];
  const types = Object.keys(payloadFields) as EventType[];
  return types.filter((type) => nameFor(payloadFields[type]) in handlers);
}

function nameFor(field: string): string {
  return `on${field.charAt(0).toUpperCase()}${field.slice(1)}`;
}
