/** The row of posthorn doctor about the servers of a DATABASE_URL with several hosts: roles, timelines, and whether commits are replicated. */
import { formatHost } from "../../../postgres/database-url.ts";
import type { HostReport } from "../../../postgres/host-watch.ts";
import { type Replication, readReplication, type Sql } from "../../../postgres/pool.ts";
import type { Finding } from "./finding.ts";

export async function replicationChecks(sql: Sql): Promise<Finding[]> {
  const reports = await sql.hosts.survey();
  if (reports.length === 0) return [];
  return [replicationFinding(reports, await readReplication(sql))];
}

/** With these, a standby has flushed a commit to disk before it is acknowledged. With `remote_write`, an outage of its machine loses it. */
const flushedLevels = ["on", "remote_apply"];

export function replicationFinding(reports: readonly HostReport[], { names, level, standbys }: Replication): Finding {
  const primaries = reports.filter(({ view }) => view && !view.standby);
  const away = reports.filter(({ view }) => !view);
  const isFlushed = flushedLevels.includes(level);
  const how =
    names === ""
      ? "asynchronous"
      : isFlushed
        ? `commits wait for a standby (${names})`
        : `commits do not wait for the disk of a standby (synchronous_commit is ${level})`;
  const found = `${reports.map(describe).join(", ")}; ${how}, ${standbys} standbys connected`;
  const row = (result: Finding["result"], fix?: string): Finding => ({
    check: "replication",
    result,
    found,
    ...(fix === undefined ? {} : { fix }),
  });
  if (new Set(reports.flatMap(({ view }) => view?.system ?? [])).size > 1)
    return row("fail", "Remove the hosts of the other cluster from DATABASE_URL: Posthorn does not use them.");
  if (primaries.length > 1)
    return row("fail", "Stop the old primary, the one on the lower timeline, and make it a standby of the new one.");
  if (away.length > 0) return row("warn", "Start these servers, or remove them from DATABASE_URL.");
  if (standbys === 0)
    return row("warn", "No standby is connected to the primary: check primary_conninfo of the standbys.");
  if (names === "")
    return row(
      "warn",
      "A failover can lose the newest emails. Set synchronous_standby_names on every server: docs/operate.md, Failover.",
    );
  if (!isFlushed)
    return row(
      "warn",
      "A failover can lose the newest emails. Set synchronous_commit to on, also where it is set for the role or the database.",
    );
  return row("ok");
}

function describe({ address, view, error }: HostReport): string {
  const host = formatHost(address);
  if (!view) return `${host} does not answer (${error?.message})`;
  return `${host} ${view.standby ? "standby" : "primary"}${view.timeline === null ? "" : ` on timeline ${view.timeline}`}`;
}
