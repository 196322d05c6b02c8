/** Runs a real PgBouncer in front of a test database, in the pool mode that the test needs. */
import { stat, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { socketOptions } from "../../src/postgres/embedded/embedded.ts";
import { needs } from "./foreign.ts";
import { freePort } from "./free-port.ts";
import { type Peer, startPeer } from "./peer.ts";

export const withoutPgbouncer = needs("pgbouncer");

export type Pgbouncer = Peer & { url: string };

export async function startPgbouncer(
  databaseUrl: string,
  pool: { mode: "transaction" | "session" | "statement"; size: number; roundRobin?: boolean },
): Promise<Pgbouncer> {
  const port = await freePort();
  const socketDir = dirname(socketOptions(databaseUrl).path!);
  const { username, password, pathname } = new URL(databaseUrl);
  // PgBouncer, like PostgreSQL, does not run as root, and only the database's account can enter the directory of its socket.
  const { uid, gid } = await stat(socketDir);
  const configuration = `[databases]
* = host=${socketDir} port=5432 user=${username} password=${decodeURIComponent(password)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${pool.mode}
default_pool_size = ${pool.size}
server_round_robin = ${pool.roundRobin ? 1 : 0}
`;
  const peer = await startPeer({
    name: "pgbouncer",
    prefix: "posthorn-pgbouncer-",
    runAs: process.getuid?.() === 0 ? { uid, gid } : undefined,
    args: async (directory) => {
      const file = join(directory, "pgbouncer.ini");
      await writeFile(file, configuration);
      return [file];
    },
    ready: () => accepts(port),
  });
  return { ...peer, url: `postgres://${username}:any@127.0.0.1:${port}${pathname}` };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
