/**
 * Detects a database that may have lost the end of its event logs: after a failover to a standby, or after a restore. The database records
 * the server that wrote the logs (system identifier and timeline). Each new connection of the pool compares it with the server that it
 * reached, before its first write. A different server means that all logs were cut at their newest event: `cutLogs` records that for each
 * workspace. events/rules.ts reads the cuts. pool.ts calls `checkOrigin`, app/open-store.ts `recordOrigin` and `cutLogs`.
 */
import { randomInt } from "node:crypto";
import type { ClientBase } from "pg";
import type { Log } from "../ops/log.ts";
import type { ReachedServer } from "./health.ts";
import type { Sql } from "./sql.ts";

/**
 * A restored copy has another timeline or system identifier than the server that it replaces. The name of the current WAL file contains the
 * timeline; pg_control_checkpoint() shows the old one until the first checkpoint after a promotion.
 */
const originText = `case when pg_is_in_recovery() then 'standby'
  else (select system_identifier::text from pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) end`;
const settingName = "log_origin";

/** SQLSTATE: the table, the function or the right to call it is missing. Then there is nothing to compare. */
const cannotCompare = /^(42P01|42883|42501|0A000)$/;

/**
 * Returns the server that the connection has reached, if it can be compared. Rejects for a standby: a session that was opened before its
 * promotion could write without a check.
 */
export async function checkOrigin(client: ClientBase, log: Log): Promise<ReachedServer | undefined> {
  const row = await readOrigin(client);
  if (row?.origin === "standby") throw new StandbyReached();
  if (!row || row.recorded === row.origin) return row && { origin: row.origin, isCut: false };
  const workspaces = await cut(client, row.origin);
  if (workspaces === undefined) return { origin: row.origin, isCut: false };
  log.warn(
    { recorded: row.recorded, origin: row.origin, workspaces },
    "the database was restored or has failed over: the event logs may have lost their end, and streams report the cut to their readers",
  );
  return { origin: row.origin, isCut: true };
}

async function readOrigin(client: ClientBase): Promise<{ recorded: string; origin: string } | undefined> {
  try {
    const { rows } = await client.query(
      `select value as recorded, ${originText} as origin from settings where name = '${settingName}'`,
    );
    return rows[0];
  } catch (error) {
    if (cannotCompare.test(String((error as { code?: string }).code))) return undefined;
    throw error;
  }
}

/** The database has forgotten worker ids that running programs use. A new worker must not get one of them, because leases contain them. */
const skipWorkerIds =
  "select setval(pg_get_serial_sequence('workers', 'id'), nextval(pg_get_serial_sequence('workers', 'id')) + 100000)";

/**
 * Recipients that were due may have their email already, although the database has lost the attempt. A lease of such a recipient is in
 * doubt (delivery/store/lease.ts). Service time may have advanced by a few minutes in the part that was lost.
 */
const markDue = `insert into settings (name, value) values ('last_cut', (service_time() + interval '10 minutes')::text || ';'
    || lpad(to_hex((extract(epoch from wall_time()) * 1000)::bigint), 12, '0') || repeat('0', 20))
  on conflict (name) do update set value = excluded.value, updated_at = now()`;

/** In the order in which other statements lock the counters of several workspaces. */
const cutAll = `update event_counters c set cuts = c.cuts || (c.last || $1::text)
  from (select workspace_id from event_counters order by workspace_id for update) locked where c.workspace_id = locked.workspace_id`;

/** A cut may take longer than other statements: no other connection writes until it is done. */
const cutTimeoutMs = 10 * 60_000;

/** The lock on the setting makes other connections wait, so that no event is written before the cut. */
async function cut(client: ClientBase, origin: string): Promise<number | undefined> {
  // node-postgres supports query_timeout per statement, but its types do not have it.
  const limit = { query_timeout: cutTimeoutMs };
  await client.query(`begin; set local statement_timeout = ${cutTimeoutMs}`);
  try {
    const { rows } = await client.query(`select value from settings where name = '${settingName}' for update`);
    if (rows[0]?.value === origin) return void (await client.query("commit"));
    const { rowCount } = await client.query({ text: cutAll, values: [makeCutLetters()], ...limit });
    await client.query(skipWorkerIds);
    await client.query(markDue);
    await client.query(`update settings set value = $1, updated_at = now() where name = '${settingName}'`, [origin]);
    await client.query("commit");
    return rowCount ?? 0;
  } catch (error) {
    await client.query("rollback").catch(() => {});
    throw error;
  }
}

/** Letters that make the names of two cuts different, also after a restore from before the first one. */
export function makeCutLetters(): string {
  return Array.from({ length: 6 }, () => String.fromCharCode(97 + randomInt(26))).join("");
}

/** Records the server that writes the logs. Called once the schema exists. False if the server does not identify itself. */
export async function recordOrigin(sql: Sql): Promise<boolean> {
  const text = `insert into settings (name, value) select '${settingName}', ${originText} on conflict (name) do nothing`;
  try {
    await sql.unsafe(text);
    return true;
  } catch (error) {
    if (!cannotCompare.test(String((error as { code?: string }).code))) throw error;
    return false;
  }
}

/** Cuts all logs at their newest event, for a restore that left no other trace. Returns the number of logs. `note` writes to the same
 * transaction. */
export async function cutLogs(sql: Sql, note?: (tx: Sql) => Promise<void>): Promise<number> {
  return await sql.session(
    async (session) =>
      await session.begin(async (tx) => {
        await tx`select 1 from settings where name = ${settingName} for update`;
        const [{ logs }] = await tx<[{ logs: number }]>`select count(*)::int as logs from event_counters`;
        await tx.unsafe(cutAll.replace("$1", `'${makeCutLetters()}'`));
        await tx.unsafe(skipWorkerIds);
        await tx.unsafe(markDue);
        await note?.(tx);
        return logs;
      }),
  );
}

/** Has the code of a read-only database, so that callers and /readyz report it as one. */
class StandbyReached extends Error {
  readonly code = "25006";

  constructor() {
    super("the server is a standby, which cannot store anything until it is promoted");
  }
}
