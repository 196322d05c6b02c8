/** Ports for programs that cannot choose one themselves. */
import { createSocket } from "node:dgram";
import { createServer, type Server } from "node:net";

const host = "127.0.0.1";
/** Linux and macOS take ports for outgoing connections and for port 0 from 32768 on, so they never take one of these. */
const firstPort = 10_000;
const count = 4_000;

/**
 * A port that is free over UDP and TCP, and that no other test gets while this process runs: a socket on a second port, `count` above,
 * reserves it. The system closes that socket even if the process is killed.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = firstPort + Math.floor(Math.random() * count);
    const reservation = await listen(port + count);
    if (!reservation) continue;
    if (await isFree(port)) return port;
    reservation.close();
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = await listen(port);
  if (!server) return false;
  await new Promise((resolve) => server.close(resolve));
  const socket = createSocket("udp4");
  const bound = await new Promise<boolean>((resolve) => {
    socket.once("error", () => resolve(false)).bind({ address: host, port }, () => resolve(true));
  });
  socket.close();
  return bound;
}

/** Undefined if the port is taken. */
function listen(port: number): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer().unref();
    server.once("listening", () => resolve(server));
    server.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "EADDRINUSE" ? resolve(undefined) : reject(error),
    );
    server.listen({ host, port });
  });
}
