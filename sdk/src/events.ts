/** posthorn.events: stream the workspace's events with reconnects, pass them to handlers, or list them page by page. */
import type { Call } from "./call.ts";
import { checkArray, checkFunction, checkObject, checkSignal } from "./check.ts";
import { type CursorStore, createSaver, loadPosition, type Position } from "./cursor-store.ts";
import { sleep } from "./deadline.ts";
import { badArgument, type ErrorCode, PosthornError } from "./error.ts";
import type { ListEventsRequest, ListEventsResponse, StreamEventsRequest, StreamEventsResponse } from "./gen/email.ts";
import type { Event, EventEntry } from "./gen/event.ts";
import { dispatchEvent, type EventHandlers, type EventType, handledTypes } from "./handlers.ts";
import { type List, listPages } from "./list.ts";
import type { AbortSignal } from "./platform.ts";
import { backOffMs } from "./retry.ts";
import type { CallOptions } from "./settings.ts";
import type { OpenStream } from "./stream.ts";

export interface StreamOptions {
  /** Start after this cursor. Default `"0"`: start with the oldest stored event. `"latest"`: only new events. */
  cursor?: string;
  /** Only events of these types. Default: all types. */
  types?: readonly EventType[];
  /** Only events of this email. */
  emailId?: string;
  /** False: end after the newest stored event. Default true: wait for new events. */
  follow?: boolean;
  /** Stores the cursor across restarts. A stored cursor takes precedence over `cursor`. */
  store?: CursorStore;
  /** Aborting it ends the stream. */
  signal?: AbortSignal;
  /** Called when a connection is lost, with the delay before the next one. */
  onReconnect?: (lost: { error: PosthornError; failures: number; delayMs: number }) => unknown;
  /**
   * Called when the server's database was restored or has failed over and lost the end of the event log. The stream then resumes after
   * `lastSharedCursor`. The events between it and `cursor` that you have handled no longer exist; the events that follow are new.
   */
  onLogReset?: (reset: LogReset) => unknown;
}

export interface LogReset {
  /** The last cursor of the stream, which is no longer valid. */
  cursor: string;
  /** The last cursor that is the same in the log that you have read and in the current one. */
  lastSharedCursor: string;
  error: PosthornError;
}

export interface StreamedEvent {
  /** Position of the event in the log. Pass it as `cursor` to resume after this event. */
  cursor: string;
  event: Event;
}

/** Three times the server's heartbeat interval of 15 seconds. */
const idleTimeoutMs = 45_000;

/** Errors that a new connection cannot fix. */
const permanentErrors: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "unauthenticated",
  "permission_denied",
  "invalid_argument",
  "not_found",
  "out_of_range",
  "unimplemented",
  "failed_precondition",
]);

/** Resets in a row without a message in between. A server that asks for more is faulty. */
const maxResets = 5;

/** Where both logs are the same, if the error says that the log was cut. */
function sharedPosition({ code, reason, metadata }: PosthornError): Position | undefined {
  const { lastSharedCursor, lastSharedEventId } = metadata;
  if (code !== "out_of_range" || reason !== "LOG_CUT" || lastSharedCursor === undefined) return undefined;
  return { cursor: lastSharedCursor, eventId: lastSharedEventId };
}

function checkStreamOptions({ signal, types, store, onReconnect, onLogReset }: StreamOptions): void {
  checkSignal(signal);
  if (types !== undefined) checkArray(types, "types", 'must be an array of event types, such as ["email.delivered"]');
  if (store !== undefined && (typeof store?.load !== "function" || typeof store.save !== "function"))
    throw badArgument("store", 'must be a cursor store, such as fileCursorStore("./events.cursor") of posthorn/node');
  checkFunction(onReconnect, "onReconnect");
  checkFunction(onLogReset, "onLogReset");
}

/** A heartbeat without an id keeps the id of the event before it, if it has the same cursor. */
function positionAfter({ cursor, event, eventId }: StreamEventsResponse, before: Position): Position {
  return { cursor, eventId: event?.id ?? eventId ?? (cursor === before.cursor ? before.eventId : undefined) };
}

export class Events {
  readonly #call: Call;
  readonly #open: OpenStream;

  constructor(call: Call, open: OpenStream) {
    this.#call = call;
    this.#open = open;
  }

  /**
   * Yields the events in order: first the stored ones, then each new one. After a lost connection the client reconnects with
   * exponential back-off and resumes after the last event that it yielded. An event counts as handled when the consumer
   * requests the next one. After a crash the last events may be delivered again; none is lost. If the server's database loses the end
   * of the log, the stream calls `onLogReset` and resumes after the last event that both logs share. The stream ends when its signal
   * fires, and throws on errors that a new connection cannot fix.
   */
  async *stream(options: StreamOptions = {}): AsyncGenerator<StreamedEvent, void, undefined> {
    checkObject(options, "options");
    checkStreamOptions(options);
    const { signal, follow } = options;
    const saver = createSaver(options.store);
    let position = (await loadPosition(options.store)) ?? { cursor: options.cursor ?? "0", eventId: undefined };
    let failures = 0;
    let resets = 0;
    try {
      while (!signal?.aborted) {
        let lost = new PosthornError("unavailable", "The server ended the stream.");
        try {
          const filter = { types: [...(options.types ?? [])], emailId: options.emailId, follow };
          const request = { ...filter, cursor: position.cursor, afterEventId: position.eventId, withEventIds: true };
          for await (const message of this.#connect(request, signal)) {
            failures = 0;
            if (message.event) resets = 0;
            if (message.event) yield { cursor: message.cursor, event: message.event };
            position = positionAfter(message, position);
            saver.save(position);
          }
          if (follow === false) return;
        } catch (error) {
          if (signal?.aborted) return;
          if (!(error instanceof PosthornError)) throw error;
          const shared = resets < maxResets ? sharedPosition(error) : undefined;
          if (shared) {
            await options.onLogReset?.({ cursor: position.cursor, lastSharedCursor: shared.cursor, error });
            position = shared;
            saver.save(position);
            if (resets++ > 0) await sleep(backOffMs(resets, Math.random()), signal);
            continue;
          }
          if (permanentErrors.has(error.code)) throw error;
          lost = error;
        }
        failures += 1;
        const delayMs = Math.max(lost.retryAfterMs ?? 0, backOffMs(failures, Math.random()));
        await options.onReconnect?.({ error: lost, failures, delayMs });
        await sleep(delayMs, signal);
      }
    } finally {
      await saver.flush();
    }
  }

  /**
   * Calls the matching handler for each event, one event at a time, until the signal fires. An error from a handler is passed
   * to `onError`, and the stream continues. Without `onError` the promise rejects with that error, and the event is delivered
   * again next time. Lost connections are reported to `onError` too.
   */
  async listen(options: EventHandlers & StreamOptions): Promise<void> {
    checkObject(options, "options", "must be an object with handlers, such as { onDelivered, signal }");
    for (const [name, value] of Object.entries(options)) if (/^on[A-Z]/.test(name)) checkFunction(value, name);
    const types = options.types ?? handledTypes(options);
    if (!options.onEvent && handledTypes(options).length === 0)
      throw badArgument("onEvent", "is missing: pass onEvent or a handler for one event type, such as onDelivered");
    const onReconnect: StreamOptions["onReconnect"] = async (lost) => {
      await options.onReconnect?.(lost);
      await options.onError?.(lost.error);
    };
    for await (const { event } of this.stream({ ...options, types, onReconnect })) {
      try {
        await dispatchEvent(event, options);
      } catch (error) {
        if (!options.onError) throw error;
        await options.onError(error, event);
      }
    }
  }

  /** Lists the stored events after a cursor, oldest first, without waiting for new ones. */
  list(request: ListEventsRequest = {}, options?: CallOptions): List<EventEntry, ListEventsResponse> {
    return listPages((previous) => {
      checkObject(request, "filter");
      if (previous && !previous.hasMore) return undefined;
      return this.#call(
        "EmailService/ListEvents",
        previous
          ? { ...request, cursor: previous.nextCursor, afterEventId: previous.nextEventId || undefined }
          : request,
        options,
      );
    });
  }

  #connect(request: StreamEventsRequest, signal: AbortSignal | undefined) {
    return this.#open("EmailService/StreamEvents", request, { signal, idleTimeoutMs });
  }
}
