/** What a PostgreSQL server says about itself, and which server of several is the primary. hosts.ts asks and connects. */
import type { ClientBase } from "pg";

/** A server that answered. */
export type ServerView = {
  standby: boolean;
  /** True also for a primary with default_transaction_read_only. */
  readOnly: boolean;
  /** The cluster's system identifier. Null: the server does not report it. */
  system: string | null;
  /** Each promotion starts a higher timeline. A standby reports the newest one that it has received. */
  timeline: number | null;
};

/** The cluster of the program, and the highest timeline that any of its hosts has shown. */
export type KnownCluster = { system: string | null; timeline: number };

const roleColumns = `pg_is_in_recovery() as standby, current_setting('transaction_read_only') = 'on' as "readOnly"`;
/**
 * Every login may call these functions. On a primary, the name of the current WAL file contains the timeline; pg_control_checkpoint() shows
 * the old one until the first checkpoint after a promotion. On a standby, each of the three sources may be behind the others.
 */
const viewText = `select ${roleColumns}, (select system_identifier::text from pg_control_system()) as system,
  case when pg_is_in_recovery() then greatest((select timeline_id from pg_control_checkpoint()),
      (select min_recovery_end_timeline from pg_control_recovery()), (select received_tli from pg_stat_wal_receiver))
    else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int end as timeline`;
const roleText = `select ${roleColumns}, null as system, null as timeline`;

/** SQLSTATE: the function or the right to call it is missing. */
const cannotCompare = /^(42883|42501|0A000)$/;

export async function readView(client: ClientBase, limitMs: number): Promise<ServerView> {
  // node-postgres supports query_timeout per statement, but its types do not have it.
  const read = async (text: string) => {
    const { rows } = await client.query<ServerView>({ text, query_timeout: limitMs } as { text: string });
    return rows[0]!;
  };
  return await read(viewText).catch((error) => {
    if (!cannotCompare.test(String((error as { code?: string }).code))) throw error;
    return read(roleText);
  });
}

/** Why the program must not write to this server; undefined if it may. */
export function refusalOf(view: ServerView, known: KnownCluster | undefined): string | undefined {
  if (known && isForeign(view, known))
    return `belongs to another cluster (system identifier ${view.system} instead of ${known.system})`;
  if (view.standby) return "is a standby";
  if (view.readOnly) return "is read-only (default_transaction_read_only)";
  if (known && view.timeline !== null && view.timeline < known.timeline)
    return `is an old primary on timeline ${view.timeline}, and another host has shown timeline ${known.timeline}`;
  return undefined;
}

export function isForeign({ system }: ServerView, known: KnownCluster): boolean {
  return system !== null && known.system !== null && system !== known.system;
}

/** The cluster as these servers show it. Undefined if none of them reports an identifier. Throws if they belong to different clusters. */
export function clusterOf(views: readonly ServerView[]): KnownCluster | undefined {
  const systems = [...new Set(views.flatMap(({ system }) => system ?? []))];
  if (systems.length > 1) throw new DifferentClusters(systems);
  if (systems.length === 0) return undefined;
  return { system: systems[0]!, timeline: Math.max(0, ...views.map(({ timeline }) => timeline ?? 0)) };
}

/** Writing to either cluster could be wrong, and writing to them in turn would cut the event logs each time. */
export class DifferentClusters extends Error {
  /** Not an outage: waiting does not help. */
  readonly code = "DIFFERENT_CLUSTERS";

  constructor(systems: readonly string[]) {
    super(
      `the hosts of DATABASE_URL belong to different clusters (system identifiers ${systems.join(", ")}): name only the servers of one cluster`,
    );
  }
}
