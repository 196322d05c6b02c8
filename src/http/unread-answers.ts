/** Ends answers that are complete but that the client does not read. Such an answer keeps its memory while the client keeps the connection
 * in use, for example with an HTTP/2 window of 0 and a PING from time to time. Called by server.ts. */

export type WatchedAnswer = {
  /** Whether the handler has written all of it. */
  ended(): boolean;
  /** What is not sent yet. While it changes, the client reads. */
  pendingBytes(): number;
  close(): void;
};

export type UnreadAnswers = {
  /** Watches an answer until the returned function is called. */
  watch(answer: WatchedAnswer): () => void;
  stop(): void;
};

/** One timer for all answers: a timer for each one would cost more than most calls can spare. */
export function createUnreadAnswers({ unreadMs, everyMs }: { unreadMs: number; everyMs: number }): UnreadAnswers {
  const answers = new Set<{ answer: WatchedAnswer; pendingBytes: number; sinceMs: number }>();

  function check(): void {
    const nowMs = performance.now();
    for (const watched of answers) {
      const { answer, pendingBytes, sinceMs } = watched;
      const pending = answer.ended() ? answer.pendingBytes() : -1;
      if (pending < 0 || pending !== pendingBytes) {
        watched.pendingBytes = pending;
        watched.sinceMs = nowMs;
      } else if (nowMs - sinceMs >= unreadMs) {
        answers.delete(watched);
        answer.close();
      }
    }
  }

  const timer = setInterval(check, everyMs).unref();
  return {
    watch(answer) {
      const watched = { answer, pendingBytes: -1, sinceMs: 0 };
      answers.add(watched);
      return () => answers.delete(watched);
    },
    stop: () => clearInterval(timer),
  };
}
