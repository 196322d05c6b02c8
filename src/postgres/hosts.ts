/**
 * Which of the hosts in DATABASE_URL is the primary. With several hosts, each new connection goes to the last known primary, or to the one
 * that all hosts together show. While the program runs, every host is asked each second: when one of them shows a higher timeline, all
 * connections to the old primary are closed, so that nothing is written or acknowledged there any more. With one host, none of this
 * happens. Created by pool.ts; host-view.ts judges what the hosts say, and decision 61 has the reasons.
 */
import type { ClientConfig } from "pg";
import type { Log } from "../ops/log.ts";
import { Client } from "./client.ts";
import { type DatabaseUrl, formatHost } from "./database-url.ts";
import { isForeign, type KnownCluster, readView, refusalOf, type ServerView } from "./host-view.ts";
import { createHostWatch, type HostReport } from "./host-watch.ts";
import { NoPrimary } from "./lost-connection.ts";

export type Hosts = {
  /** For pg.Pool. */
  Client: new (
    config?: ClientConfig,
  ) => Client;
  /** What each host says now; empty with one host. */
  survey(): Promise<readonly HostReport[]>;
  /** How often the program has changed to another primary. */
  switches(): number;
  close(): void;
};

/** Asking the hosts takes at most this long, however many of them do not answer. */
const askLimitMs = 2_000;
/** How long to wait for the other hosts once a primary of the known cluster has answered: one of them may show a higher timeline. */
export const graceMs = 500;
/** For callers that wait for a primary, an answer of this age is as good as a new one. */
const freshMs = 200;
const viewLimitMs = 5_000;

export function createHosts({ config, hosts: addresses }: DatabaseUrl, log: Log, { askMs = askLimitMs } = {}): Hosts {
  const hasSeveral = addresses.length > 1;
  const watch = createHostWatch({ config, addresses, limitMs: askMs, onView, log });
  /** Open connections, and those that are being opened. The timeline is known once the server has been checked. */
  const connections = new Map<Client, { host: number; timeline: number | undefined }>();
  let known: KnownCluster | undefined;
  /** The host to connect to. */
  let primary: number | undefined;
  let lastPrimary: number | undefined;
  let switches = 0;
  let searching: Promise<number> | undefined;
  let failedAtMs = Number.NEGATIVE_INFINITY;
  let failure: unknown;
  const reportedForeign = new Set<number>();

  const labelOf = (host: number) => formatHost(addresses[host]!);

  function onView(host: number, view: ServerView): void {
    if (!known) return;
    if (isForeign(view, known)) {
      if (reportedForeign.has(host)) return;
      reportedForeign.add(host);
      log.error(
        { host: labelOf(host), system: view.system, expected: known.system },
        "a host of DATABASE_URL belongs to another cluster and is not used. Remove it from DATABASE_URL; if all of them were replaced, restart Posthorn",
      );
      return;
    }
    reportedForeign.delete(host);
    if (view.timeline !== null && view.timeline > known.timeline) leaveOlder(host, view.timeline);
    if (host === primary && refusalOf(view, known)) primary = undefined;
  }

  /** Closes all connections to servers on older timelines: another server has been promoted. */
  function leaveOlder(seenAt: number, timeline: number): void {
    known = { system: known!.system, timeline };
    const old = [...connections].filter(([, one]) =>
      one.timeline === undefined ? one.host !== seenAt : one.timeline < timeline,
    );
    if (primary !== seenAt) primary = undefined;
    if (old.length === 0) return;
    log.warn(
      { host: labelOf(old[0]![1].host), timeline, seenAt: labelOf(seenAt), connections: old.length },
      "another database server has been promoted: closing all connections to the old primary",
    );
    for (const [client] of old) client.abandon();
  }

  async function route(client: Client, open: () => Promise<void>): Promise<void> {
    const host = primary ?? (await search());
    client.aimAt(addresses[host]!);
    connections.set(client, { host, timeline: undefined });
    client.once("end", () => connections.delete(client));
    try {
      await open();
      admit(client, host, await readView(client, viewLimitMs));
    } catch (error) {
      connections.delete(client);
      if (primary === host) primary = undefined;
      client.abandon();
      throw error;
    }
  }

  /** Throws if the program must not write to the server. */
  function admit(client: Client, host: number, view: ServerView): void {
    const refusal = refusalOf(view, known);
    if (refusal) throw new NoPrimary(`${labelOf(host)} ${refusal}`, "25006");
    known ??= { system: view.system, timeline: view.timeline ?? 0 };
    if (view.timeline !== null && view.timeline > known.timeline) leaveOlder(host, view.timeline);
    connections.set(client, { host, timeline: view.timeline ?? undefined });
    primary = host;
    if (lastPrimary !== undefined && lastPrimary !== host) {
      switches++;
      log.warn(
        { from: labelOf(lastPrimary), to: labelOf(host), timeline: view.timeline },
        "the database has a new primary",
      );
    }
    lastPrimary = host;
    watch.start();
  }

  /** One search at a time, for all connections that wait for it. */
  function search(): Promise<number> {
    if (performance.now() - failedAtMs < freshMs) return Promise.reject(failure);
    searching ??= findPrimary()
      .catch((error) => {
        failedAtMs = performance.now();
        failure = error;
        throw error;
      })
      .finally(() => {
        searching = undefined;
      });
    return searching;
  }

  async function findPrimary(): Promise<number> {
    // Before the program knows its cluster, the first primary to answer may be that of another one.
    const reports = await watch.ask(known && { enough: (report) => isPrimary(report, known), graceMs });
    const cluster = known ?? (await watch.clusterOf(reports));
    const [best] = reports
      .filter((report) => isPrimary(report, cluster))
      .sort((a, b) => (b.view!.timeline ?? 0) - (a.view!.timeline ?? 0));
    // A cluster without a primary is not adopted: its hosts may be the foreign ones, and the others down.
    if (!best) throw noPrimary(reports, cluster);
    known ??= cluster;
    return best.host;
  }

  function isPrimary({ view }: HostReport, cluster: KnownCluster | undefined): boolean {
    return view !== undefined && refusalOf(view, cluster) === undefined;
  }

  function noPrimary(reports: readonly HostReport[], cluster: KnownCluster | undefined): NoPrimary {
    const reasons = reports.map(({ host, view, error }) => {
      const reason = view ? refusalOf(view, cluster) : `does not answer (${error?.message})`;
      return `${labelOf(host)} ${reason}`;
    });
    const errors = reports.flatMap(({ error }) => (error as { code?: string } | undefined)?.code ?? []);
    // A wrong password has to be corrected; the other errors may pass.
    const code = errors.find((one) => /^28/.test(one)) ?? (reports.some(({ view }) => view) ? "25006" : errors[0]);
    return new NoPrimary(`no host of DATABASE_URL is a primary: ${reasons.join(", ")}`, code ?? "CONNECTION_LOST");
  }

  return {
    Client: class extends Client {
      constructor(options: ClientConfig = {}) {
        super({ ...config, ...options }, hasSeveral ? route : undefined);
      }
    },
    survey: async () => (hasSeveral ? await watch.ask() : []),
    switches: () => switches,
    close: watch.close,
  };
}
