/**
 * The two clocks of the database as this process knows them. The heartbeat sets both; in between they run with this process's monotonic
 * clock. A jump of this machine's clock therefore changes neither, and all nodes agree even where their clocks differ.
 */

export type Clock = {
  /** Wall time, for ids, for everything shown and for times that a caller names. Within the range for which partitions exist. */
  nowMs(): number;
  /** Service time, for durations that decide: it never jumps (src/postgres/service-clock.ts). */
  serviceMs(): number;
  set(times: { wallMs: number; serviceMs: number }): void;
};

/** Before the first heartbeat both clocks show this machine's time. */
export function createClock(monotonicMs: () => number = () => performance.now()): Clock {
  let setAtMs = monotonicMs();
  let times = { wallMs: Date.now(), serviceMs: Date.now() };
  const passedMs = () => monotonicMs() - setAtMs;
  return {
    nowMs: () => Math.floor(times.wallMs + passedMs()),
    serviceMs: () => Math.floor(times.serviceMs + passedMs()),
    set(known) {
      setAtMs = monotonicMs();
      times = known;
    },
  };
}

/** How far a time is ahead of this machine's clock, for libraries that read the machine's. */
export function aheadOfMachineMs(nowMs: number): number {
  return nowMs - Date.now();
}
