/** Spreads the connections of a port over the processes: one that has more connections than another passes the next one on, through the supervisor.
 * Without it, one of two idle processes often gets most of the connections that are opened at once (docs/decisions/0064-processes.md).
 * child.ts creates the part of a process, supervisor.ts the part of the supervisor. */
import { Socket } from "node:net";
import type { Spread } from "../../shares/spread.ts";
import {
  type LoadReport,
  type Loads,
  type LoadsById,
  type SharedLoads,
  type SharedPort,
  sharedPorts,
} from "./messages.ts";

/** A connection without the buffers of a Socket, which would start to read. */
export type RawConnection = { close(): void };

export type SpreadDeps = {
  /** Of this process. */
  id: number;
  /** `sent` is called when the connection is on its way, or could not be sent. */
  send(message: { kind: "connection"; port: SharedPort; to: number }, raw: RawConnection, sent: () => void): void;
  /** Tells the supervisor about this process's connections. */
  report(loads: LoadReport): void;
};

/** Connections that this process may have more than another one before it passes one on. */
const slack = 1;
/** Connections on their way to the supervisor. Each waits for a turn of the event loops that it passes. */
const mostMoving = 32;

/** The part of a process. Connections on their way to this process need no count here: the channel keeps its order, so they arrive before the
 * loads of a supervisor that has passed them. */
export function createSpreads({ id, send, report }: SpreadDeps) {
  const own: Loads = {};
  let arrived: Loads = {};
  /** By the id of the chosen process. */
  const sent = new Map<number, Loads>();
  let seen = new Map<number, Loads>();
  /** Of the other processes, by id. */
  let others = new Map<number, Loads>();
  const takers = new Map<SharedPort, (socket: Socket) => void>();
  let reporting = false;

  function reportSoon(): void {
    if (reporting) return;
    reporting = true;
    // Many connections may open and close in one turn.
    setImmediate(() => {
      reporting = false;
      // Copies: the message may wait in the channel, and be written later.
      report({ loads: { ...own }, arrived: { ...arrived }, sent: copyOf(sent) });
    });
  }

  function keep(port: SharedPort, socket: Socket): void {
    add(own, port, 1);
    reportSoon();
    socket.once("close", () => {
      add(own, port, -1);
      reportSoon();
    });
  }

  /** Connections that the supervisor had not received when it sent its last loads. */
  function moving(to: number, port: SharedPort): number {
    return (sent.get(to)?.[port] ?? 0) - (seen.get(to)?.[port] ?? 0);
  }

  function isFull(): boolean {
    let all = 0;
    for (const other of others.keys()) for (const port of sharedPorts) all += moving(other, port);
    return all >= mostMoving;
  }

  /** The process with the fewest connections, if it has fewer than this one. */
  function lighter(port: SharedPort): number | undefined {
    let found: number | undefined;
    let fewest = (own[port] ?? 0) - slack + 1;
    for (const [other, loads] of others) {
      const held = (loads[port] ?? 0) + moving(other, port);
      if (held >= fewest) continue;
      fewest = held;
      found = other;
    }
    return found;
  }

  function move(port: SharedPort, socket: Socket, to: number): void {
    add(entryOf(sent, to), port, 1);
    const raw = (socket as unknown as { _handle: RawConnection })._handle;
    // Closes only this process's descriptor.
    send({ kind: "connection", port, to }, raw, () => socket.destroy());
    reportSoon();
  }

  return {
    of: (port: SharedPort): Spread => ({
      keeps(socket) {
        const to = lighter(port);
        if (to === undefined || isFull()) {
          keep(port, socket);
          return true;
        }
        move(port, socket, to);
        return false;
      },
      onMoved: (take) => void takers.set(port, take),
    }),
    learn(shared: SharedLoads): void {
      others = new Map(shared.loads.filter(([other]) => other !== id));
      seen = new Map(shared.seen);
      // The id of a process is never used again.
      for (const to of sent.keys()) if (!others.has(to)) sent.delete(to);
      // All passed connections have arrived before this message, except lost ones: Node drops a connection without an error when the receiver
      // has no free descriptor.
      if (sharedPorts.every((port) => (arrived[port] ?? 0) === (shared.passed[port] ?? 0))) return;
      arrived = { ...shared.passed };
      reportSoon();
    },
    /** A connection from another process. Without `raw`, it was closed on its way. */
    arrived(port: SharedPort, raw: RawConnection | undefined): void {
      add(arrived, port, 1);
      reportSoon();
      const take = takers.get(port);
      if (!raw || !take) return raw?.close();
      // As a server's listener makes it.
      const socket = new Socket({ handle: raw, allowHalfOpen: true } as object);
      socket.setNoDelay(true);
      keep(port, socket);
      take(socket);
    },
  };
}

type Run = { loads: Loads; arrived: Loads; passed: Loads; seen: Map<number, Loads> };

/** The part of the supervisor: counts the connections that move, so that each counts for its receiver at every moment. Before the supervisor has
 * received a connection, its sender counts it; until the receiver reports it, the supervisor does. */
export function createTransfers() {
  /** By id. A message of a process may come after its end; then it has no entry. */
  const runs = new Map<number, Run>();

  return {
    began: (id: number): void => void runs.set(id, { loads: {}, arrived: {}, passed: {}, seen: new Map() }),
    ended: (id: number): void => void runs.delete(id),
    /** A connection from a process, whichever process gets it in the end. */
    received(from: number, chosen: number, port: SharedPort): void {
      const run = runs.get(from);
      if (run) add(entryOf(run.seen, chosen), port, 1);
    },
    /** A connection for a process. One that could not be sent counts until the process answers the next loads, or ends. */
    passed(to: number, port: SharedPort): void {
      const run = runs.get(to);
      if (run) add(run.passed, port, 1);
    },
    reported(id: number, { loads, arrived, sent }: LoadReport): void {
      const run = runs.get(id);
      if (!run) return;
      run.loads = loads;
      run.arrived = arrived;
      // All sent connections were received before this message, except lost ones. This also removes processes that have ended.
      run.seen = new Map(sent);
    },
    /** The message to process `id` about the processes that take connections. */
    shareWith(id: number, taking: readonly number[]): SharedLoads {
      const run = runs.get(id);
      return {
        loads: taking.map((other) => [other, loadOf(runs.get(other))]),
        // Copies: the message may wait in the channel, and be written later.
        passed: { ...run?.passed },
        seen: run ? copyOf(run.seen) : [],
      };
    },
  };
}

function loadOf(run: Run | undefined): Loads {
  const load: Loads = {};
  if (!run) return load;
  for (const port of sharedPorts)
    load[port] = (run.loads[port] ?? 0) + (run.passed[port] ?? 0) - (run.arrived[port] ?? 0);
  return load;
}

function add(counts: Loads, port: SharedPort, change: number): void {
  counts[port] = (counts[port] ?? 0) + change;
}

function entryOf(counts: Map<number, Loads>, id: number): Loads {
  const found = counts.get(id) ?? {};
  counts.set(id, found);
  return found;
}

function copyOf(counts: Map<number, Loads>): LoadsById {
  return [...counts].map(([id, loads]) => [id, { ...loads }]);
}
