/** A TCP proxy between the program and PostgreSQL that can cut or freeze connections, as when a server dies or hangs. */
import { connect, createServer, type Socket } from "node:net";
import { socketOptions } from "../../src/postgres/embedded/embedded.ts";

export type DatabaseProxy = {
  url: string;
  /** Closes all open connections: in an orderly way, or with a reset. */
  cut(how: "end" | "reset"): void;
  /** Keeps all connections open but forwards nothing, as when a machine hangs. */
  freeze(): void;
  thaw(): void;
  close(): Promise<void>;
};

/** `url` must name a Unix socket, as the URL of the test server does. */
export async function startDatabaseProxy(url: string): Promise<DatabaseProxy> {
  const { path } = socketOptions(url);
  if (!path) throw new Error("the database proxy needs a server on a Unix socket");
  const clients = new Set<Socket>();
  const pairs = new Map<Socket, Socket>();
  let frozen = false;
  const join = (client: Socket, upstream: Socket) => void client.pipe(upstream).pipe(client);
  const server = createServer((client) => {
    const upstream = connect(path);
    clients.add(client);
    pairs.set(client, upstream);
    client.on("close", () => clients.delete(client));
    client.on("close", () => pairs.delete(client));
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
    for (const socket of [client, upstream]) socket.on("error", () => socket.destroy());
    if (!frozen) join(client, upstream);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    url: url.replace(/@[^/]*\//, `@127.0.0.1:${port}/`),
    cut(how) {
      for (const client of clients) {
        if (how === "reset") client.resetAndDestroy();
        else client.destroy();
      }
    },
    freeze() {
      frozen = true;
      for (const [client, upstream] of pairs) {
        client.unpipe(upstream);
        upstream.unpipe(client);
      }
    },
    thaw() {
      frozen = false;
      for (const [client, upstream] of pairs) join(client, upstream);
    },
    async close() {
      for (const client of clients) client.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
