/** Keeps a PostgreSQL running: when it ends unasked it is started again, with growing pauses, until it is stopped. Used by embedded.ts. */
import { setTimeout as delay } from "node:timers/promises";
import type { EmbeddedLog } from "./embedded-log.ts";
import type { Server } from "./embedded-server.ts";

export type Alive = {
  pid(): number | undefined;
  onExit(listener: (how: string) => void): void;
  stop(): Promise<void>;
};

/** The signal ends a start that is still recovering when the program is asked to stop. */
type Start = (signal: AbortSignal) => Promise<Server>;

const firstPauseMs = 50;
const longestPauseMs = 2000;
/** One that lived this long was no failed start: its successor need not wait. */
const stableMs = 1000;

export function keepAlive(first: Server, start: Start, log: EmbeddedLog): Alive {
  const listeners: ((how: string) => void)[] = [];
  const stopping = new AbortController();
  let server: Server | undefined = first;
  const loop = supervise();

  async function supervise(): Promise<void> {
    let pauseMs = firstPauseMs;
    while (server !== undefined) {
      const since = performance.now();
      const how = await server.exited;
      server = undefined;
      if (stopping.signal.aborted) return;
      log.error({ how }, "PostgreSQL ended unexpectedly; starting it again");
      for (const listener of listeners) listener(how);
      if (performance.now() - since > stableMs) pauseMs = firstPauseMs;
      while (server === undefined) {
        await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => {});
        if (stopping.signal.aborted) return;
        pauseMs = Math.min(pauseMs * 2, longestPauseMs);
        server = await restart(() => start(stopping.signal), pauseMs, log);
      }
      if (stopping.signal.aborted) return;
    }
  }

  return {
    pid: () => server?.pid,
    onExit: (listener) => listeners.push(listener),
    async stop() {
      stopping.abort();
      await server?.stop();
      await loop;
      // A restart that was under way at that moment may have made another.
      await server?.stop();
    },
  };
}

async function restart(start: () => Promise<Server>, pauseMs: number, log: EmbeddedLog): Promise<Server | undefined> {
  try {
    const server = await start();
    log.info({ pid: server.pid }, "PostgreSQL is back");
    return server;
  } catch (error) {
    log.error({ err: error, pauseMs }, "PostgreSQL does not start; trying again");
    return undefined;
  }
}
