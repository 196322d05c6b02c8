/** The connections of one port, spread over the processes of the program. The system gives a new connection to any process that waits for one,
 * so without this, all connections of a client could be in one process. app/processes/spread.ts implements it. */
import type { Socket } from "node:net";

export type Spread = {
  /** False: the connection moves to a process that has fewer, and this process must not use it. The socket must not have been read. */
  keeps(socket: Socket): boolean;
  /** Sets the function that takes connections of other processes. */
  onMoved(take: (socket: Socket) => void): void;
};

/** What a server needs to share its port with other processes. */
export type SharedListener = {
  /** The descriptor of the bound socket. */
  fd: number;
  spread: Spread;
};
