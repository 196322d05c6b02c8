/** The progress of a message that arrives: whether it keeps the minimum rate, and how fast it was lately. Used by receiving.ts. A fast start
 * does not count for later, so a client cannot send megabytes and then keep the memory with single octets. */

export type MinimumRate = { bytesPerSecond: number; graceMs: number };

export type ReceiveProgress = {
  received(bytes: number): void;
  /** The time until the message is too slow, unless more arrives. */
  leftMs(): number;
  /** How long the message has been behind the minimum rate; 0 if it is not. */
  lagMs(): number;
  /** Octets per second, lately. */
  rate(): number;
};

/** The rate is an average over two such periods: a client that stops has the rate 0 after at most that time. */
const periodMs = 2500;

export function createReceiveProgress(
  { bytesPerSecond, graceMs }: MinimumRate,
  nowMs = () => performance.now(),
): ReceiveProgress {
  /** Time that the client has in advance, at most `graceMs`. Each octet adds to it. */
  let creditMs = graceMs;
  /** Octets of this period and of the one before. */
  let recent = 0;
  let before = 0;
  let periodAtMs = nowMs();
  let atMs = nowMs();

  function settle(): void {
    const now = nowMs();
    creditMs -= now - atMs;
    atMs = now;
    const periods = Math.floor((now - periodAtMs) / periodMs);
    if (periods === 0) return;
    before = periods === 1 ? recent : 0;
    recent = 0;
    periodAtMs += periods * periodMs;
  }

  return {
    received(bytes) {
      settle();
      creditMs = Math.min(graceMs, creditMs + (bytes * 1000) / bytesPerSecond);
      recent += bytes;
    },
    leftMs() {
      settle();
      return creditMs;
    },
    lagMs() {
      settle();
      return graceMs - creditMs;
    },
    rate() {
      settle();
      return ((before + recent) * 1000) / (periodMs + atMs - periodAtMs);
    },
  };
}
