/** One PostgreSQL server that can be a primary or a standby, run with the programs of the machine's own PostgreSQL. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import pg from "pg";
import { locate, needs, pathOf } from "./foreign.ts";
import { until } from "./wait.ts";

/** Servers are killed by their process ids, which the test finds in /proc. */
export const withoutReplicas = process.platform === "linux" ? needs("pg_rewind") : "Linux only";

export type Account = { uid: number; gid: number };

export type Replica = {
  /** The directory of its Unix socket. */
  directory: string;
  url: string;
  create(): Promise<void>;
  /** Replaces all data with a copy of the server at this URL. */
  copy(url: string): Promise<void>;
  /** Undoes what this server has written and that one has not. The server must not run. */
  rewind(url: string): Promise<void>;
  /** From the next start or at once, the server is a standby of the one at this URL. */
  follow(url: string): Promise<void>;
  start(): Promise<void>;
  /** An orderly shutdown that ends all sessions: a standby that is connected gets everything. */
  stop(): Promise<void>;
  /** SIGKILL for every process of the server. */
  kill(): Promise<void>;
  promote(): Promise<void>;
  /** Whether this standby is connected to its primary. */
  isReceiving(): Promise<boolean>;
  /** How much of the log this standby has. */
  receivedBytes(): Promise<bigint>;
  /** The end of this primary's log. */
  writtenTo(): Promise<string>;
  /** How many standbys have applied the log of this primary up to this position. */
  standbys(position?: string): Promise<number>;
  /** In the database postgres unless another one is named. */
  query<T extends pg.QueryResultRow>(text: string, database?: string): Promise<T[]>;
  output(): string;
};

const user = "posthorn";
const password = "replicated";

/** PostgreSQL does not run as root. Undefined: the account of the test. Lets the account enter the folder of the servers. */
export async function ownAccount(folder: string): Promise<Account | undefined> {
  await chmod(folder, 0o711);
  if (process.getuid?.() !== 0) return undefined;
  const line = (await readFile("/etc/passwd", "utf8")).split("\n").find((one) => one.startsWith("postgres:"));
  const [, , uid, gid] = line?.split(":") ?? [];
  if (!uid || !gid) throw new Error("the account postgres is missing, although its package is installed");
  return { uid: Number(uid), gid: Number(gid) };
}

export async function createReplica(options: {
  name: string;
  directory: string;
  account: Account | undefined;
  settings: Record<string, string>;
}): Promise<Replica> {
  const { name, directory, account } = options;
  const binaries = locate("pg_rewind") === undefined ? "" : dirname(pathOf("pg_rewind"));
  const data = join(directory, "data");
  const env = { PATH: process.env.PATH, PGPASSWORD: password, LC_ALL: "C.UTF-8" };
  let child: ChildProcess | undefined;
  let output = "";
  await mkdir(directory, { mode: 0o711 });
  if (account) await chown(directory, account.uid, account.gid);
  const url = `postgres://${user}:${password}@${encodeURIComponent(directory)}/postgres`;

  function launch(program: string, args: string[]): ChildProcess {
    const started = spawn(join(binaries, program), args, {
      ...account,
      cwd: directory,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [started.stdout!, started.stderr!])
      stream.on("data", (chunk) => {
        output = (output + chunk).slice(-3_000);
      });
    return started;
  }

  async function run(program: string, ...args: string[]): Promise<void> {
    const before = output.length;
    const [code] = await once(launch(program, args), "close");
    if (code !== 0)
      throw new Error(`${program} ended with ${code}: ${output.slice(Math.min(before, output.length - 2_000))}`);
  }

  async function query<T extends pg.QueryResultRow>(text: string, database = "postgres"): Promise<T[]> {
    const client = new pg.Client({
      host: directory,
      user,
      password,
      database,
      connectionTimeoutMillis: 5_000,
      query_timeout: 10_000,
    });
    client.on("error", () => {});
    try {
      await client.connect();
      return (await client.query<T>(text)).rows;
    } finally {
      await client.end().catch(() => {});
    }
  }

  /** For the account of the server: pg_rewind writes to all files. */
  async function write(file: string, text: string): Promise<void> {
    await writeFile(join(data, file), text);
    if (account) await chown(join(data, file), account.uid, account.gid);
  }

  async function writeSettings(): Promise<void> {
    const settings: Record<string, string> = {
      listen_addresses: "",
      unix_socket_directories: directory,
      max_connections: "200",
      shared_buffers: "64MB",
      wal_log_hints: "on",
      wal_keep_size: "1GB",
      wal_receiver_timeout: "5s",
      wal_sender_timeout: "5s",
      wal_retrieve_retry_interval: "200ms",
      ...options.settings,
    };
    const lines = Object.entries(settings).map(([key, value]) => `${key} = '${value}'`);
    await write("postgresql.conf", [...lines, "include_if_exists = 'replication.conf'", ""].join("\n"));
  }

  const isUp = () => child !== undefined && child.exitCode === null && child.signalCode === null;

  async function ended(): Promise<void> {
    if (isUp()) await once(child!, "exit");
  }

  return {
    directory,
    url,
    output: () => output,
    query,
    async create() {
      const file = join(directory, "password");
      await writeFile(file, password);
      await run(
        "initdb",
        "-D",
        data,
        "-U",
        user,
        "--auth=scram-sha-256",
        `--pwfile=${file}`,
        "--no-sync",
        "-E",
        "UTF8",
      );
      await write("pg_hba.conf", "local all all scram-sha-256\nlocal replication all scram-sha-256\n");
      await writeSettings();
    },
    async copy(from) {
      await rm(data, { recursive: true, force: true });
      await run(
        "pg_basebackup",
        "-D",
        data,
        "-d",
        connection(from),
        "--checkpoint=fast",
        "--wal-method=stream",
        "--no-sync",
      );
      await writeSettings();
    },
    async rewind(from) {
      await rm(join(data, "standby.signal"), { force: true });
      await run("pg_rewind", "-D", data, "--source-server", connection(from), "--no-sync");
      await writeSettings();
    },
    async follow(source) {
      const text = `primary_conninfo = '${connection(source)} application_name=${name}'\n`;
      await write("replication.conf", text);
      if (isUp()) return void process.kill(child!.pid!, "SIGHUP");
      await write("standby.signal", "");
    },
    async start() {
      child = launch("postgres", ["-D", data]);
      await until(`server ${name} to answer`, async () => {
        if (!isUp()) throw new Error(output.slice(-2_000));
        return await query("select 1");
      });
    },
    async stop() {
      // Fast: ends all sessions.
      child?.kill("SIGINT");
      await ended();
    },
    async kill() {
      if (!isUp()) return;
      const children = await childrenOf(child!.pid!);
      child!.kill("SIGKILL");
      for (const pid of children) tryKill(pid);
      await ended();
      await untilGone(children);
    },
    async promote() {
      await query("select pg_promote(true, 60)");
    },
    async isReceiving() {
      return (await query("select 1 from pg_stat_wal_receiver where status = 'streaming'")).length > 0;
    },
    async receivedBytes() {
      const [row] = await query<{ at: string }>(
        "select (greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0')::text as at",
      );
      return BigInt(row!.at);
    },
    async writtenTo() {
      const [row] = await query<{ at: string }>("select pg_current_wal_lsn()::text as at");
      return row!.at;
    },
    async standbys(position = "0/0") {
      const rows = await query(
        `select 1 from pg_stat_replication where state = 'streaming' and replay_lsn >= '${position}'`,
      );
      return rows.length;
    },
  };
}

/** The URL as libpq's parameters, which take a port apart from the host. */
function connection(url: string): string {
  const { hostname, port } = new URL(url);
  return `host=${decodeURIComponent(hostname)} port=${port || 5432} user=${user} password=${password} dbname=postgres connect_timeout=5`;
}

/** All processes below this one. */
export async function descendantsOf(pid: number): Promise<number[]> {
  const children = await childrenOf(pid);
  return [...children, ...(await Promise.all(children.map(descendantsOf))).flat()];
}

export async function untilGone(pids: readonly number[]): Promise<void> {
  await until("killed processes to end", async () => (await alive(pids)).length === 0);
}

async function childrenOf(pid: number): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((one) => /^\d+$/.test(one)).map(Number);
  const parents = await Promise.all(pids.map(async (one) => ({ one, parent: await parentOf(one) })));
  return parents.filter(({ parent }) => parent === pid).map(({ one }) => one);
}

/** The fields after the name in /proc/PID/stat: state, parent. */
async function statOf(pid: number): Promise<string[] | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  return text?.slice(text.lastIndexOf(")") + 2).split(" ");
}

async function parentOf(pid: number): Promise<number> {
  return Number((await statOf(pid))?.[1]);
}

async function alive(pids: readonly number[]): Promise<number[]> {
  const states = await Promise.all(pids.map(async (pid) => ({ pid, state: (await statOf(pid))?.[0] })));
  return states.filter(({ state }) => state !== undefined && state !== "Z").map(({ pid }) => pid);
}

export function tryKill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}
