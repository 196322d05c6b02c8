/** A TCP proxy in front of the program that breaks connections in the middle of a message, as a bad network does. */

import type { AddressInfo } from "node:net";
import { connect, createServer, type Socket } from "node:net";

export interface CuttingProxy {
  url: string;
  /** How many connections were broken. */
  cuts(): number;
  /** From now on, connections stay open. */
  calm(): void;
  close(): Promise<void>;
}

/** Each connection ends after a number of bytes of the server's response that `nextLimit` chooses. */
export async function startCuttingProxy(target: string, nextLimit: () => number): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let isCalm = false;
  let cuts = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    let left = nextLimit();
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.once("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on("data", (chunk) => upstream.write(chunk));
    upstream.on("data", (chunk: Buffer) => {
      if (isCalm || chunk.length < left) {
        left -= chunk.length;
        client.write(chunk);
        return;
      }
      cuts += 1;
      upstream.destroy();
      // The bytes before the cut arrive, then the connection ends.
      client.end(chunk.subarray(0, left));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cuts: () => cuts,
    calm() {
      isCalm = true;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
