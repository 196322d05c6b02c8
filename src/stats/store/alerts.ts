/** The alerts about rates: which workspaces are to be judged, their counts of the last 24 hours, and the alerts that are raised. An alert is
 * inserted in the statement that writes its event and its mail, so each is raised once, on any number of nodes. Called by ../alert-loop.ts. */
import type { Sql } from "../../postgres/pool.ts";
import { type Notice, noticed } from "../../quotas/store/notices.ts";
import type { Alert, AlertSettings, Figure } from "../rules/alerts.ts";
import { type Counts, liveDimension } from "../rules.ts";

const windowHours = 24;

export type Judged = Pick<Counts, "delivered" | "sent" | "bounced" | "complained"> & {
  workspaceId: string;
  name: string;
  eventsTo: string;
  settings: AlertSettings;
  raised: Figure[];
};

/**
 * Workspaces with new counts since they were judged, and those with an alert, which time alone can end. None is judged again within
 * `restMs`. Reads one row of each of the last 25 hours: the current hour has just begun. Primary keys.
 */
export async function findToJudge(
  sql: Sql,
  { nowMs, restMs, limit }: { nowMs: number; restMs: number; limit: number },
): Promise<Judged[]> {
  const now = new Date(nowMs);
  return await sql<Judged[]>`
    with due as materialized (
      select m.workspace_id, m.events_to, w.name from stats_marks m join workspaces w on w.id = m.workspace_id
      left join rate_alert_marks j on j.workspace_id = m.workspace_id
      where (j.events_to is distinct from m.events_to and m.events_to > 0
          or exists (select 1 from rate_alerts a where a.workspace_id = m.workspace_id and a.is_raised))
        and coalesce(j.judged_at <= (select service_time()) - ${restMs} * interval '1 millisecond', true) and w.deleting_at is null
      order by j.judged_at nulls first limit ${limit})
    select d.workspace_id as "workspaceId", d.name, d.events_to as "eventsTo", c.*,
      jsonb_build_object('bounces', coalesce(s.bounce_alert, '{}'), 'complaints', coalesce(s.complaint_alert, '{}')) as settings,
      array(select figure from rate_alerts a where a.workspace_id = d.workspace_id and a.is_raised) as raised
    from due d left join stats_settings s on s.workspace_id = d.workspace_id cross join lateral (
      select coalesce(sum(g.delivered), 0)::int as delivered, coalesce(sum(g.sent), 0)::int as sent, coalesce(sum(g.bounced), 0)::int as bounced,
        coalesce(sum(g.complained), 0)::int as complained
      from stats_groups g where g.workspace_id = d.workspace_id and g.dimension = ${liveDimension}
        and g.hour > ${now}::timestamptz - ${windowHours + 1} * interval '1 hour' and g.hour <= ${now}) c`;
}

/** False: it is raised already, or was reported within a day and is only raised again. A rate at its threshold, a clock that jumps and a
 * person who changes settings would otherwise send any number of mails. */
export async function raiseAlert(sql: Sql, alert: Alert, notice: Notice): Promise<boolean> {
  const { figure, rate, threshold, count, recipients, message } = alert;
  const rows = await sql<object[]>`
    with clock as materialized (
      select service_time() as now
    ), raised as (
      insert into rate_alerts as a (workspace_id, figure, rate, threshold, count, recipients, message, raised_at, is_raised, reported_at)
      select ${notice.workspaceId}::uuid, ${figure}, ${rate}::float8, ${threshold}::float8, ${count}::int, ${recipients}::int, ${message},
        wall_time(), true, now from clock
      on conflict (workspace_id, figure) do update set rate = excluded.rate, threshold = excluded.threshold, count = excluded.count,
        recipients = excluded.recipients, message = excluded.message, raised_at = excluded.raised_at, is_raised = true,
        reported_at = case when a.reported_at < excluded.reported_at - interval '1 day' then excluded.reported_at else a.reported_at end
      where not a.is_raised returning reported_at
    ), noted as (
      select 1 from raised where reported_at = (select now from clock)
    ), ${noticed(sql, notice, sql`exists (select 1 from noted)`)}
    select 1 from event`;
  return rows.length > 0;
}

/** The alert is over, and can be raised again. */
export async function endAlert(sql: Sql, workspaceId: string, figure: Figure): Promise<void> {
  await sql`update rate_alerts set is_raised = false where workspace_id = ${workspaceId} and figure = ${figure}`;
}

/** Called last: a workspace whose node was killed before is judged again. */
export async function markJudged(sql: Sql, judged: readonly Pick<Judged, "workspaceId" | "eventsTo">[]): Promise<void> {
  await sql`
    insert into rate_alert_marks (workspace_id, events_to, judged_at)
    select k.workspace_id, k.events_to, (select service_time())
    from unnest(${judged.map((j) => j.workspaceId)}::uuid[], ${judged.map((j) => j.eventsTo)}::bigint[]) as k(workspace_id, events_to)
    order by k.workspace_id
    on conflict (workspace_id) do update set events_to = excluded.events_to, judged_at = excluded.judged_at`;
}

export type RaisedAlert = Alert & { raisedAt: Date };

/** Primary key. */
export async function readAlerts(sql: Sql, workspaceId: string): Promise<RaisedAlert[]> {
  return await sql<RaisedAlert[]>`
    select figure, rate, threshold, count, recipients, message, raised_at as "raisedAt" from rate_alerts
    where workspace_id = ${workspaceId} and is_raised order by figure`;
}
