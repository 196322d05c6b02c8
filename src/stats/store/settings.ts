/** Reads and writes what a workspace set about its statistics and alerts. Called by ../service.ts. */
import type { Sql } from "../../postgres/pool.ts";
import type { AlertSetting, AlertSettings } from "../rules/alerts.ts";

export type StatsSettings = { metadataKeys: string[]; alerts: AlertSettings };
export type SettingsChange = { metadataKeys?: string[]; bounces?: AlertSetting; complaints?: AlertSetting };

/** A workspace without a row has the defaults. Primary key. */
export async function readSettings(sql: Sql, workspaceId: string): Promise<StatsSettings> {
  const [row] = await sql<StatsSettings[]>`
    select metadata_keys as "metadataKeys", jsonb_build_object('bounces', bounce_alert, 'complaints', complaint_alert) as alerts
    from stats_settings where workspace_id = ${workspaceId}`;
  return row ?? { metadataKeys: [], alerts: { bounces: {}, complaints: {} } };
}

/** Parts that are not given stay as they are. */
export async function updateSettings(sql: Sql, workspaceId: string, change: SettingsChange): Promise<StatsSettings> {
  const json = (setting: AlertSetting | undefined) => sql`${setting ? JSON.stringify(setting) : null}::text::jsonb`;
  const keys = sql`${change.metadataKeys ?? null}::text[]`;
  const [row] = await sql<StatsSettings[]>`
    insert into stats_settings as s (workspace_id, metadata_keys, bounce_alert, complaint_alert)
    values (${workspaceId}, coalesce(${keys}, '{}'), coalesce(${json(change.bounces)}, '{}'), coalesce(${json(change.complaints)}, '{}'))
    on conflict (workspace_id) do update set metadata_keys = coalesce(${keys}, s.metadata_keys),
      bounce_alert = coalesce(${json(change.bounces)}, s.bounce_alert), complaint_alert = coalesce(${json(change.complaints)}, s.complaint_alert)
    returning metadata_keys as "metadataKeys", jsonb_build_object('bounces', bounce_alert, 'complaints', complaint_alert) as alerts`;
  return row!;
}
