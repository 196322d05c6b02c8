/** Watches the attempts in hand: an attempt that waits for its receiver frees its working slot, and a site that stops answering falls to
 * one probe. The delivery loop starts and ends the watch of each attempt. */
import type { Log } from "../ops/log.ts";
import type { AnsweredStep } from "../smtp/client/evidence.ts";
import { Progress } from "../smtp/client/progress.ts";
import type { Leased } from "./store/lease.ts";

/** What the loop and an attempt share while it runs. */
export type Run = {
  /** The site that the recipient was leased for. */
  site: string | undefined;
  /** The site has not answered yet: it gets the message only once it is ready to receive it. */
  unproven: boolean;
  signal: AbortSignal;
  progress: Progress;
  /** Frees the memory of the composed message, which is composed again when the receiver is ready. Set by the attempt. */
  dropContent: (() => boolean) | undefined;
};

/** The parts of the pace that the watch uses. */
export type StallPace = {
  unproven(site: string): boolean;
  isSilent(site: string, step: AnsweredStep, at: { waitedMs: number; nowMs: number }): boolean;
  /** True for a site that had answered before. */
  stall(site: string, nowMs: number): boolean;
};

export type WatchDeps = {
  log: Log;
  pace: StallPace;
  schedule: {
    setWaiting(rows: readonly Leased[], waiting: boolean): void;
    setHesitant(site: string, hesitant: boolean): void;
  };
  /** Whether attempts wait for memory. */
  memoryContended(): boolean;
  /** Called when working slots have become free. */
  onFree(): void;
};

type Watched = {
  row: Leased;
  run: Run;
  abort: AbortController;
  waiting: boolean;
  /** The site stalled while this attempt waited for it. The attempt is not a sign of a second stall. */
  stuck: boolean;
};

const everyMs = 100;
/** A wait that is longer than this leaves the working slot to another attempt. */
const waitingAfterMs = 250;
/** Under memory pressure, content is dropped after this wait; a message in transfer is aborted after the longer one. */
const pressureMs = { drop: 5_000, abort: 30_000 };

export function createWatch(deps: WatchDeps) {
  const watched = new Set<Watched>();
  let timer: NodeJS.Timeout | undefined;
  let lastTickMs = 0;
  let ended = false;

  function tick(): void {
    const nowMs = performance.now();
    // Replies that arrived while the event loop was busy have not been read yet.
    const isLate = nowMs - lastTickMs > 2 * everyMs;
    lastTickMs = nowMs;
    let freed = false;
    for (const one of watched) if (updateWaiting(one, nowMs) && one.waiting) freed = true;
    if (!isLate) stallSilentSites(nowMs);
    if (deps.memoryContended()) relieveMemory(nowMs);
    if (freed) deps.onFree();
    if (watched.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  }

  /** True when the attempt began or ceased to wait. */
  function updateWaiting(one: Watched, nowMs: number): boolean {
    const waiting = waitedMs(one, nowMs) >= waitingAfterMs;
    if (waiting === one.waiting) return false;
    one.waiting = waiting;
    deps.schedule.setWaiting([one.row], waiting);
    return true;
  }

  function isSilent(one: Watched, nowMs: number): boolean {
    const { site, progress } = one.run;
    if (one.stuck || !one.waiting || site === undefined || progress.step === "queued") return false;
    const step = progress.step === "body" ? "envelope" : progress.step;
    return deps.pace.isSilent(site, step, { waitedMs: waitedMs(one, nowMs), nowMs });
  }

  function stallSilentSites(nowMs: number): void {
    /** By site, whether it had answered before. */
    const stalled = new Map<string, boolean>();
    for (const one of watched) {
      const { site } = one.run;
      if (site === undefined || stalled.has(site) || !isSilent(one, nowMs)) continue;
      const hadAnswered = deps.pace.stall(site, nowMs);
      stalled.set(site, hadAnswered);
      deps.schedule.setHesitant(site, true);
      if (hadAnswered) deps.log.info({ site }, "a receiver has stopped answering; one email at a time probes it");
    }
    if (stalled.size > 0) for (const one of watched) releaseFrom(one, stalled);
  }

  function releaseFrom(one: Watched, stalled: ReadonlyMap<string, boolean>): void {
    const hadAnswered = stalled.get(one.run.site ?? "");
    if (hadAnswered === undefined) return;
    one.stuck = true;
    const { step } = one.run.progress;
    // An attempt without a connection goes back to the queue. The only attempt at an unproven site is the probe itself.
    if (step === "queued" && hadAnswered) one.abort.abort();
    else if (step === "open" || step === "envelope") one.run.dropContent?.();
  }

  /** Drops the content of all attempts that wait for a reply before their message, because they may share one message. Aborts one attempt
   * per tick, the one that has sent its message for longest. */
  function relieveMemory(nowMs: number): void {
    const holders = [...watched].filter(({ run }) => run.dropContent && run.progress.step !== "dot");
    const isSending = ({ run }: Watched) => run.progress.step === "body";
    const before = holders.filter((one) => !isSending(one) && waitedMs(one, nowMs) >= pressureMs.drop);
    if (before.filter(({ run }) => run.dropContent?.()).length > 0) return;
    const slow = holders.filter((one) => isSending(one) && waitedMs(one, nowMs) >= pressureMs.abort);
    const [longest] = slow.sort((a, b) => waitedMs(b, nowMs) - waitedMs(a, nowMs));
    longest?.abort.abort();
  }

  return {
    start(row: Leased, site: string | undefined): Watched {
      const abort = new AbortController();
      if (ended) abort.abort();
      const unproven = site !== undefined && deps.pace.unproven(site);
      const run = { site, unproven, signal: abort.signal, progress: new Progress(), dropContent: undefined };
      const one = { row, run, abort, waiting: false, stuck: false };
      watched.add(one);
      if (!timer) {
        lastTickMs = performance.now();
        timer = setInterval(tick, everyMs);
        timer.unref();
      }
      return one;
    },
    end(one: Watched): void {
      watched.delete(one);
    },
    /** Aborts all attempts, and those that start later. */
    abortAll(): void {
      ended = true;
      for (const { abort } of watched) abort.abort();
    },
    /** Sites with attempts that wait, and how many attempts and since when; longest wait first. */
    waitingSites(): { site: string; attempts: number; waitedMs: number }[] {
      const nowMs = performance.now();
      const bySite = new Map<string, { site: string; attempts: number; waitedMs: number }>();
      for (const one of watched) {
        const { site } = one.run;
        if (!one.waiting || site === undefined) continue;
        const known = bySite.get(site) ?? { site, attempts: 0, waitedMs: 0 };
        known.attempts += 1;
        known.waitedMs = Math.max(known.waitedMs, waitedMs(one, nowMs));
        bySite.set(site, known);
      }
      return [...bySite.values()].sort((a, b) => b.waitedMs - a.waitedMs);
    },
  };
}

function waitedMs({ run }: Watched, nowMs: number): number {
  const { waitingSinceMs } = run.progress;
  return waitingSinceMs === undefined ? 0 : nowMs - waitingSinceMs;
}
