/** One connection of a streaming call in Connect's JSON protocol. events.ts opens it, and reconnects when it fails. */
import { chunksOf } from "./bytes.ts";
import { canceled } from "./deadline.ts";
import { createUnwrapper, type Envelope, wrap } from "./envelope.ts";
import { PosthornError } from "./error.ts";
import { errorFromObject, errorFromResponse } from "./error-response.ts";
import type { StreamMethods } from "./gen/methods.ts";
import type { AbortSignal } from "./platform.ts";
import { commonHeaders, post, toJson, unreachable } from "./request.ts";
import type { Settings } from "./settings.ts";

export type OpenStream = <M extends keyof StreamMethods>(
  method: M,
  request: StreamMethods[M]["request"],
  options: { signal?: AbortSignal; idleTimeoutMs: number },
) => AsyncGenerator<StreamMethods[M]["response"], void, undefined>;

/** The connection fails after `idleTimeoutMs` without data. The server sends a heartbeat every 15 seconds. */
export function createOpenStream(settings: Settings): OpenStream {
  return async function* (method, request, { signal, idleTimeoutMs }) {
    const idleTimer = startIdleTimer(idleTimeoutMs, signal);
    try {
      const response = await post(settings, {
        method,
        headers: { ...commonHeaders(settings), "content-type": "application/connect+json" },
        body: wrap(toJson(request)),
        signal: idleTimer.signal,
      });
      const type = response.headers.get("content-type") ?? "";
      if (!response.ok || !response.body || !type.startsWith("application/connect+json"))
        throw await errorFromResponse(response);
      const unwrap = createUnwrapper();
      for await (const chunk of chunksOf(response.body, idleTimer)) {
        for (const envelope of unwrap(chunk)) {
          if (envelope.isEnd) return endOf(envelope, response);
          yield messageOf(envelope) as never;
        }
      }
      throw new PosthornError("unavailable", "The connection was closed in the middle of the stream.");
    } catch (error) {
      throw idleTimer.error() ?? (error instanceof PosthornError ? error : unreachable(settings, error));
    } finally {
      idleTimer.end();
    }
  };
}

function messageOf(envelope: Envelope): unknown {
  if (envelope.isCompressed)
    throw new PosthornError("internal", "The server sent a compressed message, which the client did not request.");
  return parse(envelope.text);
}

function endOf(envelope: Envelope, response: Response): void {
  const { error } = parse(envelope.text) as { error?: Record<string, unknown> };
  if (error) throw errorFromObject(error, response);
}

function parse(text: string): unknown {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch (cause) {
    throw new PosthornError("internal", "The stream contains a message that is not JSON.", { cause });
  }
  if (typeof message === "object" && message !== null) return message;
  throw new PosthornError("internal", "The stream contains a message that is not a JSON object.");
}

/** Runs only while a read is pending: the time that the consumer spends on an event does not count as idle. */
function startIdleTimer(idleTimeoutMs: number, caller: AbortSignal | undefined) {
  const controller = new AbortController();
  let error: PosthornError | undefined;
  const stop = (reason: PosthornError) => {
    error ??= reason;
    controller.abort(error);
  };
  const onIdle = () => stop(new PosthornError("unavailable", `The stream received no data for ${idleTimeoutMs} ms.`));
  const onAbort = () => stop(canceled(caller));
  let timer = setTimeout(onIdle, idleTimeoutMs);
  caller?.addEventListener("abort", onAbort, { once: true });
  if (caller?.aborted) onAbort();
  return {
    signal: controller.signal,
    error: () => error,
    pause: () => clearTimeout(timer),
    restart() {
      clearTimeout(timer);
      timer = setTimeout(onIdle, idleTimeoutMs);
    },
    end() {
      clearTimeout(timer);
      caller?.removeEventListener("abort", onAbort);
      controller.abort();
    },
  };
}
