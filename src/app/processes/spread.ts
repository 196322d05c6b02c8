/** Spreads the connections of a port over the processes: one that has more connections than another passes the next one on, through the supervisor.
 * Without it, one of two idle processes often gets most of the connections that are opened at once (docs/decisions/0064-processes.md). */
import { Socket } from "node:net";
import type { Spread } from "../../shares/spread.ts";
import type { Loads, SharedPort } from "./messages.ts";

/** A connection without the buffers of a Socket, which would start to read. */
export type RawConnection = { close(): void };

export type SpreadDeps = {
  /** Of this process. */
  id: number;
  /** `sent` is called when the connection is on its way, or could not be sent. */
  send(message: { kind: "connection"; port: SharedPort; to: number }, raw: RawConnection, sent: () => void): void;
  /** Tells the others this process's loads. */
  report(loads: Loads): void;
};

/** Connections that this process may have more than another one before it passes one on. */
const slack = 1;
/** Connections on their way to other processes. Each waits for a turn of the event loops that it passes. */
const mostMoving = 32;
/** After this time, a connection on its way counts where it arrived. */
const movingMs = 1_000;

export function createSpreads({ id, send, report }: SpreadDeps) {
  const own = new Map<SharedPort, number>();
  /** Of the other processes, by id. */
  let others = new Map<number, Loads>();
  const takers = new Map<SharedPort, (socket: Socket) => void>();
  let moving = 0;
  let reporting = false;

  function count(port: SharedPort, change: number): void {
    own.set(port, (own.get(port) ?? 0) + change);
    if (reporting) return;
    reporting = true;
    // Many connections may open and close in one turn.
    setImmediate(() => {
      reporting = false;
      report(Object.fromEntries(own));
    });
  }

  function keep(port: SharedPort, socket: Socket): void {
    count(port, 1);
    socket.once("close", () => count(port, -1));
  }

  /** The process with the fewest connections, if it has fewer than this one. */
  function lighter(port: SharedPort): { id: number; loads: Loads } | undefined {
    let found: { id: number; loads: Loads } | undefined;
    let fewest = (own.get(port) ?? 0) - slack + 1;
    for (const [id, loads] of others) {
      const held = loads[port] ?? 0;
      if (held >= fewest) continue;
      fewest = held;
      found = { id, loads };
    }
    return found;
  }

  function move(port: SharedPort, socket: Socket, to: { id: number; loads: Loads }): void {
    // Until its next report.
    to.loads[port] = (to.loads[port] ?? 0) + 1;
    moving += 1;
    setTimeout(() => (moving -= 1), movingMs).unref();
    const raw = (socket as unknown as { _handle: RawConnection })._handle;
    // Closes only this process's descriptor.
    send({ kind: "connection", port, to: to.id }, raw, () => socket.destroy());
  }

  return {
    of: (port: SharedPort): Spread => ({
      keeps(socket) {
        const to = moving < mostMoving ? lighter(port) : undefined;
        if (!to) {
          keep(port, socket);
          return true;
        }
        move(port, socket, to);
        return false;
      },
      onMoved: (take) => void takers.set(port, take),
    }),
    /** The loads of all processes that take connections. */
    learn(loads: [id: number, loads: Loads][]): void {
      others = new Map(loads.filter(([other]) => other !== id));
    },
    /** A connection from another process. */
    arrived(port: SharedPort, raw: RawConnection): void {
      const take = takers.get(port);
      if (!take) return raw.close();
      // As a server's listener makes it.
      const socket = new Socket({ handle: raw, allowHalfOpen: true } as object);
      socket.setNoDelay(true);
      keep(port, socket);
      take(socket);
    },
  };
}
