/** posthorn.events: the workspace's events as a stream that survives lost connections, to handlers, or page by page. */
import type { Call } from "./call.ts";
import { type CursorStore, createSaver } from "./cursor-store.ts";
import { sleep } from "./deadline.ts";
import { badArgument, type ErrorCode, PosthornError } from "./error.ts";
import type { ListEventsRequest, ListEventsResponse, StreamEventsRequest } from "./gen/email.ts";
import type { Event, EventEntry } from "./gen/event.ts";
import { type EventHandlers, type EventType, handledTypes, handOver } from "./handlers.ts";
import { type List, listPages } from "./list.ts";
import { backOffMs } from "./retry.ts";
import type { CallOptions } from "./settings.ts";
import type { OpenStream } from "./stream.ts";

export interface StreamOptions {
  /** Start after this cursor. Default `"0"`, the oldest kept event; `"latest"` is only what happens from now on. */
  cursor?: string;
  /** Only events of these types. Default: all. */
  types?: readonly EventType[];
  /** Only events of this email. */
  emailId?: string;
  /** False: end after the newest stored event. Default true: wait for more. */
  follow?: boolean;
  /** Keeps the place across restarts; what it holds wins over `cursor`. */
  store?: CursorStore;
  /** Ends the stream. */
  signal?: AbortSignal;
  /** Told of each lost connection and of the wait before the next one. */
  onReconnect?: (lost: { error: PosthornError; failures: number; delayMs: number }) => void;
}

export interface StreamedEvent {
  /** The place of the event in the log: pass it as `cursor` to go on after it. */
  cursor: string;
  event: Event;
}

/** The server speaks every 15 seconds; three times that is silence. */
const silenceMs = 45_000;

/** What another connection cannot mend. */
const final: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "unauthenticated",
  "permission_denied",
  "invalid_argument",
  "not_found",
  "out_of_range",
  "unimplemented",
  "failed_precondition",
]);

export class Events {
  readonly #call: Call;
  readonly #open: OpenStream;

  constructor(call: Call, open: OpenStream) {
    this.#call = call;
    this.#open = open;
  }

  /**
   * The events in order, first those already stored and then each new one. A lost connection is made again, with growing
   * waits, from the last event that was taken. An event counts as handled when the next one is asked for; after a crash the
   * last ones may come again, and none is missed. The stream ends when its signal fires; it throws when a new connection
   * cannot help.
   */
  async *stream(options: StreamOptions = {}): AsyncGenerator<StreamedEvent, void, undefined> {
    const { signal, follow } = options;
    const saver = createSaver(options.store);
    let cursor = (await options.store?.load()) ?? options.cursor ?? "0";
    let failures = 0;
    try {
      while (!signal?.aborted) {
        let lost = new PosthornError("unavailable", "The server ended the stream.");
        try {
          const request = { cursor, types: [...(options.types ?? [])], emailId: options.emailId, follow };
          for await (const message of this.#connect(request, signal)) {
            failures = 0;
            if (message.event) yield { cursor: message.cursor, event: message.event };
            cursor = message.cursor;
            saver.save(cursor);
          }
          if (follow === false) return;
        } catch (error) {
          if (signal?.aborted) return;
          if (!(error instanceof PosthornError) || final.has(error.code)) throw error;
          lost = error;
        }
        failures += 1;
        const delayMs = Math.max(lost.retryAfterMs ?? 0, backOffMs(failures, Math.random()));
        options.onReconnect?.({ error: lost, failures, delayMs });
        await sleep(delayMs, signal);
      }
    } finally {
      await saver.flush();
    }
  }

  /**
   * Calls the handler of each event, one event after the other, until the signal fires. What a handler throws goes to
   * `onError`, and the stream goes on; without `onError` the promise rejects with it, and the event comes again next time.
   * Lost connections are told to `onError` too.
   */
  async listen(options: EventHandlers & StreamOptions): Promise<void> {
    const types = options.types ?? handledTypes(options);
    if (!options.onEvent && handledTypes(options).length === 0)
      throw badArgument("onEvent", "is missing, and so is any other handler such as onDelivered");
    const onReconnect: StreamOptions["onReconnect"] = (lost) => {
      options.onReconnect?.(lost);
      options.onError?.(lost.error);
    };
    for await (const { event } of this.stream({ ...options, types, onReconnect })) {
      try {
        await handOver(event, options);
      } catch (error) {
        if (!options.onError) throw error;
        await options.onError(error, event);
      }
    }
  }

  /** The stored events after a cursor, oldest first, without waiting for new ones. */
  list(request: ListEventsRequest = {}, options?: CallOptions): List<EventEntry, ListEventsResponse> {
    return listPages((previous) => {
      if (previous && !previous.hasMore) return undefined;
      return this.#call(
        "EmailService/ListEvents",
        { ...request, cursor: previous?.nextCursor ?? request.cursor },
        options,
      );
    });
  }

  #connect(request: StreamEventsRequest, signal: AbortSignal | undefined) {
    return this.#open("EmailService/StreamEvents", request, { signal, silenceMs });
  }
}
