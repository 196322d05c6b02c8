/** Asks all hosts of DATABASE_URL for their role and timeline, each on a connection of its own that stays open. Created by hosts.ts. */
import type { ClientConfig } from "pg";
import type { Log } from "../ops/log.ts";
import { Client } from "./client.ts";
import type { HostAddress } from "./database-url.ts";
import { clusterOf, DifferentClusters, type KnownCluster, readView, type ServerView } from "./host-view.ts";
import { ConnectionLost, withCode } from "./lost-connection.ts";

/** The answer of a host: `view`, or the error instead of it. */
export type HostReport = { host: number; address: HostAddress; view?: ServerView; error?: Error };

export type AskOptions = {
  /** Once this is true of a report, the other hosts get only `graceMs` to answer. */
  enough?(report: HostReport): boolean;
  graceMs?: number;
};

export type HostWatch = {
  /** From now on, every host is asked each second. */
  start(): void;
  /** Asks all hosts at once. A host that does not answer in time delays the others no longer than the limit. */
  ask(options?: AskOptions): Promise<HostReport[]>;
  /** The cluster of these hosts. If they belong to different ones, the one whose database was written on its own servers. */
  clusterOf(reports: readonly HostReport[]): Promise<KnownCluster | undefined>;
  close(): void;
};

export type HostWatchDeps = {
  config: ClientConfig;
  addresses: readonly HostAddress[];
  limitMs: number;
  /** Called with every answer. */
  onView(host: number, view: ServerView): void;
  log: Log;
};

const everyMs = 1_000;

type Host = { number: number; address: HostAddress; client?: Client; asking?: Promise<HostReport> };

export function createHostWatch({ config, addresses, limitMs, onView, log }: HostWatchDeps): HostWatch {
  const hosts = addresses.map((address, number): Host => ({ number, address }));
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  /** Callers that ask at the same time share the answer. */
  function askHost(host: Host): Promise<HostReport> {
    host.asking ??= within(limitMs, askOnce(host))
      .then(
        (view): HostReport => {
          onView(host.number, view);
          return { host: host.number, address: host.address, view };
        },
        (error): HostReport => {
          disconnect(host);
          return { host: host.number, address: host.address, error: withCode(error) as Error };
        },
      )
      .finally(() => {
        host.asking = undefined;
      });
    return host.asking;
  }

  async function askOnce(host: Host): Promise<ServerView> {
    if (closed) throw new Error("Connection terminated");
    return await readView(await connected(host), limitMs);
  }

  async function connected(host: Host): Promise<Client> {
    if (host.client) return host.client;
    const client = new Client(config);
    client.aimAt(host.address);
    host.client = client;
    client.once("end", () => {
      if (host.client === client) host.client = undefined;
    });
    await client.connect();
    return client;
  }

  function disconnect(host: Host): void {
    host.client?.abandon();
    host.client = undefined;
  }

  async function ask({ enough, graceMs = 0 }: AskOptions = {}): Promise<HostReport[]> {
    const reports = new Map<Host, HostReport>();
    let onEnough = () => {};
    const hasEnough = new Promise<void>((resolve) => {
      onEnough = resolve;
    });
    const all = hosts.map(async (host) => {
      const report = await askHost(host);
      reports.set(host, report);
      if (enough?.(report)) onEnough();
    });
    await Promise.race([Promise.all(all), hasEnough]);
    let grace: NodeJS.Timeout | undefined;
    const graceEnd = new Promise<void>((resolve) => {
      grace = setTimeout(resolve, graceMs);
    });
    await Promise.race([Promise.all(all), graceEnd]);
    clearTimeout(grace);
    const late = new ConnectionLost(new Error("no answer yet"), "NO_ANSWER");
    return hosts.map((host) => reports.get(host) ?? { host: host.number, address: host.address, error: late });
  }

  /** Whether the event logs in this host's database were written on the host's own cluster: it is not another one's, or a restored copy. */
  async function isOwn({ host, view }: HostReport): Promise<boolean> {
    try {
      const client = await connected(hosts[host]!);
      const { rows } = await client.query("select value from settings where name = 'log_origin'");
      return (rows[0]?.value as string | undefined)?.startsWith(`${view!.system}/`) ?? false;
    } catch {
      // A database that Posthorn has not used yet.
      return false;
    }
  }

  return {
    start() {
      if (timer || closed || hosts.length < 2) return;
      timer = setInterval(() => {
        for (const host of hosts)
          askHost(host).catch((error) => log.error({ err: error }, "the answer of a database server was not handled"));
      }, everyMs);
      timer.unref();
    },
    ask,
    async clusterOf(reports) {
      const views = (chosen: readonly HostReport[]) => chosen.flatMap(({ view }) => view ?? []);
      try {
        return clusterOf(views(reports));
      } catch (error) {
        if (!(error instanceof DifferentClusters)) throw error;
        const answered = reports.filter(({ view }) => view);
        const own = await Promise.all(answered.map((report) => within(limitMs, isOwn(report)).catch(() => false)));
        const systems = new Set(answered.filter((_, i) => own[i]).map(({ view }) => view!.system));
        if (systems.size !== 1) throw error;
        return clusterOf(views(reports.filter(({ view }) => systems.has(view?.system ?? null))));
      }
    },
    close() {
      closed = true;
      clearInterval(timer);
      for (const host of hosts) disconnect(host);
    },
  };
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ConnectionLost(new Error(`no answer within ${ms} ms`), "NO_ANSWER")), ms);
  });
  work.catch(() => {});
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
