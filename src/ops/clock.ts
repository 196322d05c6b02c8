/**
 * The two clocks of the database as this process knows them. The heartbeat sets both; in between they run with this process's monotonic
 * clock. A jump of this machine's clock therefore changes neither, and all nodes agree even where their clocks differ.
 */

export type Clock = {
  /** Wall time, for ids, for everything shown and for times that a caller names. Within the range for which partitions exist. */
  nowMs(): number;
  /** Service time, for durations that decide: it never jumps (src/postgres/service-clock.ts). */
  serviceMs(): number;
  /** The database showed these times at some moment of the last `tookMs`. A clock that agrees with that stays as it is, so that a slow
   * answer does not set it back: ids made afterwards would sort before older ones. */
  set(times: { wallMs: number; serviceMs: number }, tookMs?: number): void;
};

/** Before the first heartbeat both clocks show this machine's time. */
export function createClock(monotonicMs: () => number = () => performance.now()): Clock {
  let setAtMs = monotonicMs();
  let times = { wallMs: Date.now(), serviceMs: Date.now() };
  const passedMs = () => monotonicMs() - setAtMs;
  return {
    nowMs: () => Math.floor(times.wallMs + passedMs()),
    serviceMs: () => Math.floor(times.serviceMs + passedMs()),
    set(known, tookMs = 0) {
      const passed = passedMs();
      const corrected = (runningMs: number, shownMs: number) =>
        Math.min(Math.max(runningMs + passed, shownMs), shownMs + tookMs);
      times = {
        wallMs: corrected(times.wallMs, known.wallMs),
        serviceMs: corrected(times.serviceMs, known.serviceMs),
      };
      setAtMs += passed;
    },
  };
}

/** How far a time is ahead of this machine's clock, for libraries that read the machine's. */
export function aheadOfMachineMs(nowMs: number): number {
  return nowMs - Date.now();
}
