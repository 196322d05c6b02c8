import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

/** A port that is currently free over UDP and TCP, for programs that cannot choose one themselves. */
export async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer().listen({ host: "127.0.0.1", port: 0 });
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    const socket = createSocket("udp4");
    const free = await new Promise<boolean>((resolve) => {
      socket.once("error", () => resolve(false)).bind({ address: "127.0.0.1", port }, () => resolve(true));
    });
    socket.close();
    server.close();
    await once(server, "close");
    if (free) return port;
  }
}
