/** Three PostgreSQL servers that Patroni manages with etcd, with synchronous replication in strict mode. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import pg from "pg";
import { parse } from "yaml";
import { databaseFolder } from "../../scripts/database-folder.ts";
import { createTemplate, type TestServer } from "./database.ts";
import { needs, pathOf } from "./foreign.ts";
import { freePort } from "./free-port.ts";
import { blocksOf, pages } from "./pages.ts";
import { descendantsOf, ownAccount, tryKill, untilGone } from "./replica.ts";
import { until } from "./wait.ts";

export const withoutPatroni = process.platform === "linux" ? needs("pg_rewind", "patroni", "etcd") : "Linux only";

export type Patroni = {
  server: TestServer;
  /** Runs a statement on the leader. */
  query(text: string, database: string): Promise<unknown[]>;
  /** Asks Patroni for another leader, and waits for it. */
  switchOver(): Promise<void>;
  /** Kills the leader with its Patroni, and waits until Patroni has promoted a standby. */
  killPrimary(): Promise<void>;
  /** Starts what was killed, and waits until two standbys follow the leader. */
  repair(): Promise<void>;
  /** When the newest leader could commit. */
  promotedAtMs(): number;
  stop(): Promise<void>;
};

type Member = { name: string; api: number; port: number; file: string; child?: ChildProcess };

const user = "posthorn";
const password = "replicated";
const neededBytes = 4 * 2 ** 30;

export async function startPatroni(): Promise<Patroni> {
  const parent = await databaseFolder("/dev/shm", neededBytes);
  const directory = await mkdtemp(join(parent, "posthorn-patroni-"));
  const account = await ownAccount(directory);
  const binaries = dirname(pathOf("pg_rewind"));
  let output = "";
  let promotedAtMs = 0;
  const env = { PATH: process.env.PATH, LC_ALL: "C.UTF-8", HOME: directory, ETCD_UNSUPPORTED_ARCH: "arm64" };

  function launch(program: string, args: string[]): ChildProcess {
    const { ETCD_UNSUPPORTED_ARCH, ...others } = env;
    const own = process.arch === "arm64" ? { ...others, ETCD_UNSUPPORTED_ARCH } : others;
    const child = spawn(program, args, { ...account, cwd: directory, env: own, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [child.stdout!, child.stderr!])
      stream.on("data", (chunk) => {
        output = (output + chunk).slice(-8_000);
      });
    return child;
  }

  async function folder(name: string): Promise<string> {
    const path = join(directory, name);
    await mkdir(path, { mode: 0o700 });
    if (account) await chown(path, account.uid, account.gid);
    return path;
  }

  const [etcdPort, etcdPeerPort] = [await freePort(), await freePort()];
  const etcdUrl = `http://127.0.0.1:${etcdPort}`;
  const etcdPeerUrl = `http://127.0.0.1:${etcdPeerPort}`;
  const etcd = launch(pathOf("etcd"), [
    ...["--data-dir", await folder("etcd"), "--listen-client-urls", etcdUrl, "--advertise-client-urls", etcdUrl],
    ...["--listen-peer-urls", etcdPeerUrl, "--initial-advertise-peer-urls", etcdPeerUrl],
    ...["--initial-cluster", `default=${etcdPeerUrl}`],
  ]);
  await until("etcd to answer", async () => (await fetch(`${etcdUrl}/health`)).ok);

  const members: Member[] = [];
  for (const name of ["a", "b", "c"]) {
    const [api, port] = [await freePort(), await freePort()];
    const file = join(directory, `${name}.json`);
    const data = join(await folder(name), "data");
    // JSON is YAML.
    await writeFile(file, JSON.stringify(settingsOf({ name, api, port, data, binaries, etcdPort })));
    members.push({ name, api, port, file });
  }
  const start = (member: Member) => {
    member.child = launch(pathOf("patroni"), [member.file]);
  };

  async function roleOf({ api }: Member): Promise<{ role: string; state: string; timeline: number } | undefined> {
    const answer = await fetch(`http://127.0.0.1:${api}/patroni`, { signal: AbortSignal.timeout(3_000) }).catch(
      () => undefined,
    );
    return (await answer?.json().catch(() => undefined)) as
      | { role: string; state: string; timeline: number }
      | undefined;
  }

  async function leader(not?: Member): Promise<Member> {
    return await until(
      "a leader",
      async () => {
        for (const member of members) {
          if (member === not) continue;
          const found = await roleOf(member);
          if (/^(master|primary)$/.test(found?.role ?? "") && found?.state === "running") return member;
        }
        return undefined;
      },
      { everyMs: 50 },
    ).catch((error) => {
      throw new Error(`${error.message}\n${output}`);
    });
  }

  async function query(text: string, database: string): Promise<unknown[]> {
    const { port } = await leader();
    const client = new pg.Client({
      host: "127.0.0.1",
      port,
      user,
      password,
      database,
      connectionTimeoutMillis: 5_000,
      query_timeout: 10_000,
    });
    client.on("error", () => {});
    try {
      await client.connect();
      return (await client.query(text)).rows;
    } finally {
      await client.end().catch(() => {});
    }
  }

  /** In strict mode, the new leader can commit only when a standby follows it, which Patroni arranges after the promotion. */
  async function promoted(old: Member): Promise<void> {
    await leader(old);
    await until("a commit on the new leader", () => query("select pg_logical_emit_message(true, '', '')", "postgres"));
    promotedAtMs = performance.now();
  }

  async function untilComplete(): Promise<void> {
    const text = "select 1 from pg_stat_replication where state = 'streaming'";
    await until("two standbys", async () => (await query(text, "postgres")).length === 2).catch((error) => {
      throw new Error(`${error.message}\n${output}`);
    });
    const sync = "select 1 from pg_stat_replication where sync_state in ('sync', 'quorum')";
    await until("a synchronous standby", async () => (await query(sync, "postgres")).length > 0);
  }

  async function kill(member: Member): Promise<void> {
    const { child } = member;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const children = await descendantsOf(child.pid!);
    child.kill("SIGKILL");
    for (const pid of children) tryKill(pid);
    await untilGone(children);
  }

  const [first, ...rest] = members;
  start(first!);
  await leader();
  for (const member of rest) start(member);
  await untilComplete();
  const hosts = members.map(({ port }) => `127.0.0.1:${port}`).join(",");
  const url = `postgres://${user}:${password}@${hosts}/postgres`;
  await createTemplate(url);

  return {
    server: { url, dataDir: directory, pid: () => undefined, leftovers: async () => [], stop: async () => {} },
    query,
    promotedAtMs: () => promotedAtMs,
    async switchOver() {
      const old = await leader();
      await until("the switch-over", async () => {
        const answer = await fetch(`http://127.0.0.1:${old.api}/switchover`, {
          method: "POST",
          body: JSON.stringify({ leader: old.name }),
        });
        return answer.ok;
      });
      await promoted(old);
    },
    async killPrimary() {
      const old = await leader();
      await kill(old);
      await promoted(old);
    },
    async repair() {
      for (const member of members)
        if (member.child!.exitCode !== null || member.child!.signalCode !== null) start(member);
      await untilComplete();
    },
    async stop() {
      for (const member of members) await kill(member);
      etcd.kill("SIGKILL");
      if (etcd.exitCode === null && etcd.signalCode === null) await once(etcd, "exit");
      await rm(directory, { recursive: true, force: true });
      if (parent !== tmpdir()) await rm(parent, { recursive: true, force: true });
    },
  };
}

type MemberSettings = { name: string; api: number; port: number; data: string; binaries: string; etcdPort: number };

/** The settings that docs/operate.md recommends. */
function recommended(): { postgresql: { parameters: object } } {
  const { text } = pages().find(({ path }) => path === "docs/operate.md")!;
  return parse(blocksOf(text).find(({ language }) => language === "yaml")!.text);
}

/** The recommended settings, with the shortest times that Patroni allows. */
function settingsOf({ name, api, port, data, binaries, etcdPort }: MemberSettings) {
  const dcs = recommended();
  const sizes = { max_connections: 200, shared_buffers: "64MB", wal_keep_size: "1GB" };
  return {
    scope: "posthorn",
    name,
    restapi: { listen: `127.0.0.1:${api}`, connect_address: `127.0.0.1:${api}` },
    etcd3: { host: `127.0.0.1:${etcdPort}` },
    bootstrap: {
      dcs: {
        ...dcs,
        ttl: 20,
        loop_wait: 1,
        retry_timeout: 5,
        postgresql: { ...dcs.postgresql, parameters: { ...dcs.postgresql.parameters, ...sizes } },
      },
      initdb: ["no-sync", { encoding: "UTF8" }, { "auth-host": "scram-sha-256" }, { "auth-local": "trust" }],
      pg_hba: [
        "local all all trust",
        "host all all 127.0.0.1/32 scram-sha-256",
        "host replication all 127.0.0.1/32 scram-sha-256",
      ],
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${port}`,
      data_dir: data,
      pgpass: join(dirname(data), "pgpass"),
      bin_dir: binaries,
      parameters: { unix_socket_directories: dirname(data) },
      authentication: {
        superuser: { username: user, password },
        replication: { username: "replicator", password },
        rewind: { username: "rewinder", password },
      },
    },
    watchdog: { mode: "off" },
  };
}
