/** The environment of a bench: a real PostgreSQL, a DNS server, a sink in its own process, and a sending domain. Started by every bench. */
import { readFile } from "node:fs/promises";
import type { Sql } from "../../src/postgres/pool.ts";
import { createTestDatabase, type TestDatabase, type TestServer } from "../../test/harness/database.ts";
import { startScriptedDns } from "../../test/harness/dns.ts";
import { type RunningProgram, startProgram } from "../../test/harness/program.ts";
import { addSendingDomain, mailDomain, senderDomain } from "../../test/harness/testbed.ts";
import { startCountingProcess } from "./counting-process.ts";
import { startOwnServer } from "./kept.ts";
import { profileEnv } from "./profile.ts";

export type Environment = Awaited<ReturnType<typeof startEnvironment>>;

export const benchKey = "the-api-key-of-every-bench-0123456789abcdef";

export type EnvironmentOptions = {
  /** The server of another environment, so that two databases can be compared in turn. By default a server of its own. */
  server?: TestServer;
  /** Settings of PostgreSQL. */
  settings?: string[];
  /** By default a new database, which is dropped at the end. */
  openDatabase?: (server: TestServer) => Promise<TestDatabase>;
};

export async function startEnvironment({ server: shared, settings, openDatabase }: EnvironmentOptions = {}) {
  const server = shared ?? (await startOwnServer(settings));
  process.env.TEST_DATABASE_URL = server.url;
  const database = await (openDatabase ?? (() => createTestDatabase()))(server);
  const dns = await startScriptedDns();
  // Negative answers are cached, as in real zones.
  dns.zone("test", 300);
  const sink = await startCountingProcess("sink.ts");
  let seeded = false;
  return {
    sql: database.sql,
    server,
    dns,
    databaseUrl: database.url,
    databasePid: server.pid,
    sinkPort: sink.port,
    /** The number of messages that the sink has accepted. */
    received: async () => (await sink.counts()).received,
    mailDomain: (name: string, address?: string) => mailDomain(dns, name, address),
    async start(env: Record<string, string> = {}): Promise<RunningProgram> {
      const program = await startProgram({
        databaseUrl: database.url,
        env: {
          POSTHORN_API_KEY: benchKey,
          POSTHORN_DELIVERY: "direct",
          POSTHORN_MX_PORT: String(sink.port),
          POSTHORN_RESOLVERS: `${dns.host}:${dns.port}`,
          POSTHORN_ALLOW_PRIVATE_MX: "127.0.0.0/8",
          POSTHORN_RATE_PER_SECOND: "100000",
          POSTHORN_RATE_BURST: "1000000",
          ...profileEnv(),
          ...env,
        },
      });
      if (!seeded) {
        const [row] = await database.sql<
          { value: string }[]
        >`select value from settings where name = 'first_workspace'`;
        const kept = await database.sql`select 1 from domains where domain = ${senderDomain}`;
        if (kept.length === 0) await addSendingDomain(database.sql, row!.value, senderDomain);
        seeded = true;
      }
      return program;
    },
    async stop(): Promise<void> {
      sink.stop();
      await dns.stop();
      await database.drop();
      if (!shared) await server.stop();
    },
  };
}

/** The workspace of every bench, with its sending domain and its key. */
export async function benchWorkspace(sql: Sql) {
  const [row] = await sql<{ workspaceId: string; domainId: string; keyId: string }[]>`
    select d.workspace_id as "workspaceId", d.id as "domainId", k.id as "keyId" from domains d
    join settings s on s.name = 'first_workspace' and s.value = d.workspace_id::text
    join keys k on k.workspace_id = d.workspace_id
    where d.domain = ${senderDomain} order by k.id limit 1`;
  return row!;
}

const text = "Your order has been shipped and will arrive soon. ".repeat(20);

/** An email of about 3 kB with text and HTML, like a password reset or a receipt. */
export const sampleEmail = {
  from: `Shop <shop@${senderDomain}>`,
  subject: "Your order",
  body: text,
  html: `<p>${text}</p><p>${text.slice(0, 800)}</p>`,
};

const [beforeTo, afterTo] = JSON.stringify({ ...sampleEmail, to: [":TO:"], async: true }).split(":TO:") as [
  string,
  string,
];

/** The request for it. Concatenating strings saves CPU time that the measured program needs. */
export function sendBody(to: string): string {
  return `${beforeTo}${to}${afterTo}`;
}

export const callHeaders = {
  Authorization: `Bearer ${benchKey}`,
  "Content-Type": "application/json",
  "Connect-Protocol-Version": "1",
};

/** The longest delay of the program's event loop since the last call. */
export async function longestPauseMs(opsUrl: string): Promise<number> {
  const metrics = await (await fetch(`${opsUrl}/metrics`)).text();
  const seconds = /^posthorn_nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(metrics)?.[1];
  if (seconds === undefined) throw new Error("/metrics has no event loop lag");
  return Number(seconds) * 1000;
}

/** Resident memory of a process now, in MiB (Linux). */
export async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}
