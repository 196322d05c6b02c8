/**
 * The SMTP server for inbound mail: accepts connections, limits their number, and shuts down. Created by app/assemble/inbound.ts.
 * session.ts handles the commands of one client, input.ts reads its bytes, socket.ts has the TLS handshake and the close.
 * Read session.ts next. inbound/receive.ts decides which recipients and messages are accepted.
 */
import { createServer, type Server, type Socket } from "node:net";
import type { ConnectionShares } from "../../shares/connections.ts";
import { createLoopShare } from "../../shares/loop-share.ts";
import type { SharedListener } from "../../shares/spread.ts";
import { createSession, type GiveUpReason, type Session, type SessionDeps } from "./session.ts";

export type SmtpServerDeps = Omit<SessionDeps, "stopping" | "onGiveUp" | "loop"> & {
  host: string;
  port: number;
  shares: ConnectionShares;
  /** The port is shared with other processes. */
  shared?: SharedListener;
  /** Called with the number of sessions each time it changes. */
  onSessions?(count: number): void;
  /** Called when a connection is refused or ended to protect others. */
  onGiveUp?(reason: GiveUpReason | "connections"): void;
  onError(error: unknown): void;
};

export type SmtpServer = {
  start(): Promise<{ port: number }>;
  /** Rejects new connections. Sessions may finish their current message within `graceMs`. */
  stop(graceMs: number): Promise<void>;
  connections(): number;
};

export function createSmtpServer(deps: SmtpServerDeps): SmtpServer {
  const stopping = new AbortController();
  const sessions = new Map<Socket, Promise<void>>();
  // Its own share: mail of strangers must not make event streams and large answers wait.
  const loop = createLoopShare({ pauseFactor: 3 });
  // Counts the calls and small messages of others as one short call that never ends.
  loop.beginShortCall();
  // Half-open, so that the server can still reply after the client has closed its side.
  const { shared } = deps;
  const listening = { allowHalfOpen: true, noDelay: true, pauseOnConnect: shared !== undefined };
  const server: Server = createServer(listening, (socket) => {
    if (shared === undefined) return onConnection(socket);
    if (!shared.spread.keeps(socket)) return;
    onConnection(socket);
    socket.resume();
  });
  shared?.spread.onMoved(onConnection);
  const tooMany = `421 4.7.0 ${deps.hostname} too many connections, try again later`;

  function onConnection(socket: Socket): void {
    socket.on("error", () => {});
    const session = createSession(socket, { ...deps, loop, stopping: stopping.signal });
    const release = stopping.signal.aborted ? undefined : admit(socket, session);
    if (!release) {
      deps.onGiveUp?.("connections");
      socket.end(`${tooMany}\r\n`);
      socket.destroySoon();
      return;
    }
    const running = session
      .run()
      .catch(deps.onError)
      .finally(() => {
        socket.destroy();
        release();
        sessions.delete(socket);
        deps.onSessions?.(sessions.size);
      });
    sessions.set(socket, running);
    deps.onSessions?.(sessions.size);
  }

  /** A full port takes the place of a connection that leads to no message. */
  function admit(socket: Socket, session: Session): (() => void) | undefined {
    return deps.shares.admit(socket.remoteAddress ?? "", {
      idleMs: session.idleMs,
      giveWay() {
        deps.onGiveUp?.("connections");
        session.end(tooMany);
      },
    });
  }

  return {
    async start() {
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        const { port, host } = deps;
        server.listen(shared === undefined ? { port, host } : { fd: shared.fd }, () => {
          server.off("error", reject);
          server.on("error", deps.onError);
          resolve();
        });
      });
      return { port: (server.address() as { port: number }).port };
    },
    async stop(graceMs) {
      stopping.abort();
      server.close();
      const timer = setTimeout(() => {
        for (const socket of sessions.keys()) socket.destroy();
      }, graceMs);
      await Promise.all(sessions.values());
      clearTimeout(timer);
    },
    connections: () => sessions.size,
  };
}
