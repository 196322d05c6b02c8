/** One connection of a streaming call, in Connect's streaming JSON: from its first message to its end or its failure. */
import { chunksOf } from "./bytes.ts";
import { commonHeaders, post, toJson, unreachable } from "./call.ts";
import { canceled } from "./deadline.ts";
import { createUnwrapper, type Envelope, wrap } from "./envelope.ts";
import { PosthornError } from "./error.ts";
import { errorFromObject, errorFromResponse } from "./error-answer.ts";
import type { StreamMethods } from "./gen/methods.ts";
import type { Settings } from "./settings.ts";

export type OpenStream = <M extends keyof StreamMethods>(
  method: M,
  request: StreamMethods[M]["request"],
  options: { signal?: AbortSignal; silenceMs: number },
) => AsyncGenerator<StreamMethods[M]["response"], void, undefined>;

/** A silence longer than `silenceMs` is a dead connection: the server says something every 15 seconds. */
export function createOpenStream(settings: Settings): OpenStream {
  return async function* (method, request, { signal, silenceMs }) {
    const watch = watchSilence(silenceMs, signal);
    try {
      const response = await post(settings, {
        method,
        headers: { ...commonHeaders(settings), "content-type": "application/connect+json" },
        body: wrap(toJson(request)),
        signal: watch.signal,
      });
      const type = response.headers.get("content-type") ?? "";
      if (!response.ok || !response.body || !type.startsWith("application/connect+json"))
        throw await errorFromResponse(response);
      const unwrap = createUnwrapper();
      for await (const chunk of chunksOf(response.body, watch)) {
        for (const envelope of unwrap(chunk)) {
          if (envelope.isEnd) return endOf(envelope, response);
          yield messageOf(envelope) as never;
        }
      }
      throw new PosthornError("unavailable", "The stream broke off.");
    } catch (error) {
      throw watch.error() ?? (error instanceof PosthornError ? error : unreachable(settings, error));
    } finally {
      watch.end();
    }
  };
}

function messageOf(envelope: Envelope): unknown {
  if (envelope.isCompressed)
    throw new PosthornError("internal", "The server compressed a message though it was not asked to.");
  return parse(envelope.text);
}

function endOf(envelope: Envelope, response: Response): void {
  const { error } = parse(envelope.text) as { error?: Record<string, unknown> };
  if (error) throw errorFromObject(error, response);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new PosthornError("internal", "The stream holds something that is no JSON.", { cause });
  }
}

/** Watches only while somebody reads: as long as the consumer is at work, the silence is its own. */
function watchSilence(silenceMs: number, caller: AbortSignal | undefined) {
  const controller = new AbortController();
  let error: PosthornError | undefined;
  const stop = (reason: PosthornError) => {
    error ??= reason;
    controller.abort(error);
  };
  const onSilence = () => stop(new PosthornError("unavailable", `The stream was silent for ${silenceMs} ms.`));
  const onAbort = () => stop(canceled(caller));
  let timer = setTimeout(onSilence, silenceMs);
  caller?.addEventListener("abort", onAbort, { once: true });
  if (caller?.aborted) onAbort();
  return {
    signal: controller.signal,
    error: () => error,
    rest: () => clearTimeout(timer),
    listen() {
      clearTimeout(timer);
      timer = setTimeout(onSilence, silenceMs);
    },
    end() {
      clearTimeout(timer);
      caller?.removeEventListener("abort", onAbort);
      controller.abort();
    },
  };
}
