/** A TCP proxy between the program and PostgreSQL that can cut or freeze connections, as when a server dies or hangs, and that can lose
 * one chosen message or the answer to it. */
import { connect, createServer, type Socket } from "node:net";
import { Transform } from "node:stream";
import { socketOptions } from "../../src/postgres/embedded/embedded.ts";

/** What happens to a message of the program, and to its connection:
 * - forward: nothing special
 * - lose: the connection ends before the server gets the message
 * - cut: the server gets the message, and the connection ends at once
 * - lose answer: the server gets the message and carries it out, and the connection ends before the answer
 * - go away: like "lose answer", and every new connection is refused until `comeBack` */
export type Fate = "forward" | "lose" | "cut" | "lose answer" | "go away";

export type DatabaseProxy = {
  url: string;
  /** Decides the fate of everything that the program sends. Default: forward. */
  fateOf(decide: (text: string, connection: object) => Fate): void;
  /** Refuses new connections and ends the open ones. */
  goAway(): void;
  comeBack(): void;
  /** Connects new connections to another server, as a virtual address does after a failover. */
  retarget(url: string): void;
  /** Closes all open connections: in an orderly way, or with a reset. */
  cut(how: "end" | "reset"): void;
  /** Keeps all connections open but forwards nothing, as when a machine hangs. */
  freeze(): void;
  thaw(): void;
  close(): Promise<void>;
};

/** libuv refuses to reset a socket that is shutting down, and Node then leaves it open and does not exit. */
function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

function socketPathOf(url: string): string {
  const { path } = socketOptions(url);
  if (!path) throw new Error("the database proxy needs a server on a Unix socket");
  return path;
}

/** `url` must name a Unix socket, as the URL of the test server does. */
export async function startDatabaseProxy(url: string): Promise<DatabaseProxy> {
  let path = socketPathOf(url);
  const clients = new Set<Socket>();
  const pairs = new Map<Socket, Socket>();
  let frozen = false;
  let away = false;
  let decide: (text: string, connection: object) => Fate = () => "forward";
  const join = (client: Socket, upstream: Socket) => {
    client.pipe(fates(client, upstream)).pipe(upstream);
    upstream.pipe(client);
  };
  /** Between client and upstream. Query texts in messages are readable as Latin-1. */
  const fates = (client: Socket, upstream: Socket) =>
    new Transform({
      transform(chunk: Buffer, _, next) {
        const fate = decide(chunk.toString("latin1"), client);
        if (fate === "forward") return next(null, chunk);
        upstream.unpipe(client);
        if (fate === "lose") return void reset(client);
        if (fate === "go away") goAway(client);
        upstream.removeAllListeners("data");
        // The server sends the answer after the commit. It is read and dropped.
        upstream.once("data", () => reset(client));
        upstream.write(chunk, () => {
          if (fate === "cut") reset(client);
        });
        upstream.resume();
      },
    });
  const goAway = (except?: Socket) => {
    away = true;
    for (const client of clients) if (client !== except) reset(client);
  };
  const server = createServer((client) => {
    if (away) return void reset(client);
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
    fateOf(chosen) {
      decide = chosen;
    },
    goAway,
    comeBack() {
      away = false;
      decide = () => "forward";
    },
    retarget(url) {
      path = socketPathOf(url);
    },
    cut(how) {
      for (const client of clients) {
        if (how === "reset") reset(client);
        else client.destroy();
      }
    },
    freeze() {
      frozen = true;
      for (const [client, upstream] of pairs) {
        client.unpipe();
        upstream.unpipe(client);
      }
    },
    thaw() {
      if (!frozen) return;
      frozen = false;
      for (const [client, upstream] of pairs) join(client, upstream);
    },
    async close() {
      for (const client of clients) client.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
