/** Event handlers, with the same names for `events.listen` and for webhooks. Dispatches an event to the handler of its type. */
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
  /** Called for every event, after the handler of its type. Event types that this version does not know have only this handler. */
  onEvent?: (event: Event) => unknown;
  /** Called with the error and the event when a handler throws, and without an event for connection and signature errors. */
  onError?: (error: unknown, event?: Event) => unknown;
}

/** Waits for the handlers. Errors from handlers propagate to the caller. */
export async function dispatchEvent(event: Event, handlers: EventHandlers): Promise<void> {
  const field: string | undefined = payloadFields[event.type];
  const handler = field && (handlers as Record<string, ((event: Event) => unknown) | undefined>)[handlerName(field)];
  if (handler) await handler(event);
  await handlers.onEvent?.(event);
}

/** The event types that have a handler. Empty with `onEvent`, which means all types. */
export function handledTypes(handlers: EventHandlers): EventType[] {
  if (handlers.onEvent) return [];
  const types = Object.keys(payloadFields) as EventType[];
  const given = handlers as Record<string, unknown>;
  return types.filter((type) => given[handlerName(payloadFields[type])] !== undefined);
}

function handlerName(field: string): string {
  return `on${field.charAt(0).toUpperCase()}${field.slice(1)}`;
}
