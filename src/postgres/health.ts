/**
 * What is wrong with the database, as this process sees it. sql.ts reports every failed statement; while something is wrong, a probe
 * (write-probe.ts) on a connection of its own tests a real write until it succeeds. The log gets one line when a problem starts, a few
 * while it lasts, and one when it ends. /readyz and the metrics read the state. Created by pool.ts.
 */
import type { Client } from "pg";
import type { Log } from "../ops/log.ts";
import { withCode } from "./lost-connection.ts";
import { type Outage, outageOf } from "./outage.ts";
import { probeWrite } from "./write-probe.ts";

/** The server that a connection has reached (log-origin.ts). */
export type ReachedServer = {
  origin: string;
  /** This connection has recorded that the event logs were cut. */
  isCut: boolean;
};

export type DatabaseHealth = {
  /** Called with every error of a statement or a connection. Errors that are no outage are ignored. */
  note(error: unknown): void;
  /** The problem that a failed write or the probe has confirmed; undefined if there is none. */
  problem(): Outage | undefined;
  /** Failed statements so far, by the state of the outage. */
  failures(): ReadonlyMap<string, number>;
  /** Tests a real write now; rejects with the reason why it fails. */
  testWrite(): Promise<void>;
  /** Called with the server that a new connection has reached. */
  noteServer(server: ReachedServer): void;
  /** Calls the listener when connections reach another server than before, which may lack the newest writes of this process. */
  onServerChange(listener: () => void): void;
  close(): void;
};

export type HealthDeps = {
  log: Log;
  connect(): Promise<Client>;
  /** True while statements wait for a connection of the pool. */
  isPoolBusy(): boolean;
  nowMs?(): number;
};

/** The same problem is logged at most this often, whether it lasts or comes back. */
const logEveryMs = 30_000;
const probeEveryMs = 1_000;
/** The probe of a long outage. It writes about 1 MiB, so it does not run more often than needed. */
const probeSlowlyMs = 5_000;
const slowAfterProbes = 10;

type Episode = { outage: Outage; sinceMs: number; failures: number; logged: boolean };

export function createHealth({
  log,
  connect,
  isPoolBusy,
  nowMs = () => performance.now(),
}: HealthDeps): DatabaseHealth {
  const counts = new Map<string, number>();
  const loggedAtMs = new Map<Outage, number>();
  /** Problems since the last successful probe. */
  const episodes = new Map<Outage, Episode>();
  let confirmed: Outage | undefined;
  let probing = false;
  let probes = 0;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  let server: string | undefined;
  const serverListeners: (() => void)[] = [];

  function note(error: unknown): void {
    const outage = outageOf(error);
    if (!outage || closed) return;
    counts.set(outage.state, (counts.get(outage.state) ?? 0) + 1);
    see(outage, error);
    // A single slow statement or lost connection does not show that the database is down: the probe decides. It cannot be waited for
    // when only writes fail, because /readyz would report a database that answers.
    if (outage.onlyWrites) confirmed = outage;
    if (!probing && timer === undefined) void probe();
  }

  function see(outage: Outage, error: unknown): void {
    const episode = episodes.get(outage) ?? { outage, sinceMs: nowMs(), failures: 0, logged: false };
    episodes.set(outage, episode);
    episode.failures++;
    if (nowMs() - (loggedAtMs.get(outage) ?? Number.NEGATIVE_INFINITY) < logEveryMs) return;
    loggedAtMs.set(outage, nowMs());
    episode.logged = true;
    const { code, message } = error as { code?: string; message?: string };
    log.error(
      { database: outage.state, failures: episode.failures, code, reason: message },
      `${outage.problem}. ${outage.fix}`,
    );
  }

  async function probe(): Promise<void> {
    probing = true;
    timer = undefined;
    const failure: unknown = await probeWrite(connect).then(
      () => (isPoolBusy() && hasPoolTrouble() ? poolTrouble : undefined),
      (error) => withCode(error),
    );
    probing = false;
    if (closed) return;
    const outage = outageOf(failure);
    if (!outage) return end();
    confirmed = outage;
    see(outage, failure);
    probes++;
    timer = setTimeout(() => void probe(), probes < slowAfterProbes ? probeEveryMs : probeSlowlyMs);
    timer.unref();
  }

  function hasPoolTrouble(): boolean {
    return [...episodes.keys()].some((outage) => outage === outageOf(poolTrouble));
  }

  function end(): void {
    confirmed = undefined;
    probes = 0;
    for (const { outage, sinceMs, failures, logged } of episodes.values())
      if (logged)
        log.info(
          { database: outage.state, failures, seconds: Math.round((nowMs() - sinceMs) / 1000) },
          `the database works again; it was: ${outage.state}`,
        );
    episodes.clear();
  }

  return {
    note,
    problem: () => confirmed,
    failures: () => counts,
    testWrite: () =>
      probeWrite(connect).catch((error) => {
        throw withCode(error);
      }),
    noteServer({ origin, isCut }) {
      const hasChanged = server !== undefined && (isCut || server !== origin);
      server = origin;
      if (hasChanged) for (const listener of serverListeners) listener();
    },
    onServerChange: (listener) => void serverListeners.push(listener),
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/** Stands for a pool whose connections are all in use. */
const poolTrouble = Object.assign(new Error("statements wait for a connection of the pool"), {
  code: "POOL_EXHAUSTED",
});
