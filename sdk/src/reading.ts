/** Limits for reading the attachments of one call: the call's deadline, and a total size. attachment-source.ts reads within them. */
import type { Deadline } from "./deadline.ts";
import { badArgument } from "./error.ts";
import type { AbortSignal } from "./platform.ts";

export interface Reading {
  /** Fires when the call is over or another attachment has failed. */
  signal: AbortSignal;
  /** Resolves like `work`, or rejects when the signal fires. */
  race<T>(work: Promise<T>): Promise<T>;
  /** Counts bytes that are read, or are going to be read. Throws when there are too many. */
  count(bytes: number, field: string): void;
  maxBytes: number;
}

/** Runs `read`. When it fails, every reader that still waits stops too. */
export async function withReading<T>(
  { deadline, maxBytes }: { deadline: Deadline; maxBytes: number },
  read: (reading: Reading) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const waiting = new Set<(reason: unknown) => void>();
  let bytesRead = 0;
  const stop = (reason: unknown) => {
    controller.abort(reason);
    for (const reject of waiting) reject(reason);
  };
  const onDeadline = () => stop(deadline.error());
  deadline.signal.addEventListener("abort", onDeadline, { once: true });
  if (deadline.signal.aborted) onDeadline();
  try {
    return await read({
      signal: controller.signal,
      maxBytes,
      race: async (work) => {
        let onStop: ((reason: unknown) => void) | undefined;
        const stopped = new Promise<never>((_, reject) => {
          onStop = reject;
          waiting.add(reject);
          if (controller.signal.aborted) reject(controller.signal.reason);
        });
        try {
          return await Promise.race([work, stopped]);
        } finally {
          waiting.delete(onStop!);
        }
      },
      count(bytes, field) {
        bytesRead += bytes;
        if (bytesRead > maxBytes) throw tooLarge(maxBytes, field);
      },
    });
  } catch (error) {
    stop(error);
    throw error;
  } finally {
    deadline.signal.removeEventListener("abort", onDeadline);
  }
}

export function tooLarge(maxBytes: number, field: string) {
  return badArgument(
    field,
    `makes the attachments larger than ${maxBytes} bytes: send a link to the file, or set maxAttachmentBytes of the client`,
  );
}
