/**
 * The SMTP server for inbound mail: accepts connections, limits their number, and shuts down. Created by app/assemble/inbound.ts.
 * session.ts handles the commands of one client, input.ts reads its bytes, socket.ts has the TLS handshake and the close.
 * Read session.ts next. inbound/receive.ts decides which recipients and messages are accepted.
 */
import { createServer, type Server, type Socket } from "node:net";
import { networksOf } from "../../shares/address.ts";
import { createSession, type SessionDeps } from "./session.ts";

export type SmtpServerDeps = Omit<SessionDeps, "stopping"> & {
  host: string;
  port: number;
  maxConnections: number;
  maxPerAddress: number;
  /** Called with the number of sessions each time it changes. */
  onSessions?(count: number): void;
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
  const perAddress = new Map<string, number>();
  // Half-open, so that the server can still reply after the client has closed its side.
  const server: Server = createServer({ allowHalfOpen: true, noDelay: true }, onConnection);

  function onConnection(socket: Socket): void {
    socket.on("error", () => {});
    const address = networksOf(socket.remoteAddress ?? "").address;
    const count = (perAddress.get(address) ?? 0) + 1;
    if (stopping.signal.aborted || sessions.size >= deps.maxConnections || count > deps.maxPerAddress) {
      socket.end(`421 4.7.0 ${deps.hostname} too many connections, try again later\r\n`);
      socket.destroySoon();
      return;
    }
    perAddress.set(address, count);
    const running = createSession(socket, { ...deps, stopping: stopping.signal })
      .run()
      .catch(deps.onError)
      .finally(() => {
        socket.destroy();
        sessions.delete(socket);
        deps.onSessions?.(sessions.size);
        const left = (perAddress.get(address) ?? 1) - 1;
        if (left > 0) perAddress.set(address, left);
        else perAddress.delete(address);
      });
    sessions.set(socket, running);
    deps.onSessions?.(sessions.size);
  }

  return {
    async start() {
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen(deps.port, deps.host, () => {
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
