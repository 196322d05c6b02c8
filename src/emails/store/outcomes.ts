/**
 * Keeps the status, the counts and the outcome of emails: parts of the statements that change recipients (reads.ts, delivery/store, queue/,
 * inbound/store). The counts are columns of the email. Open emails and those with a problem also have a row in email_outcomes, by which
 * lists find them. outcome-backfills.ts counts the emails of earlier programs.
 */
import type { Sql } from "../../postgres/pool.ts";
import { type Tables, tablesOf } from "../../postgres/weeks.ts";

/** The columns of `emails` that a statement reads when it locks the row, for `countMoves` and `countComplaint`. */
export function countColumns(sql: Sql) {
  return sql`workspace_id, id, open, delayed, sent, bounced, failed, suppressed, canceled, complained, counted_at`;
}

/** The first that applies, as in ../rules/outcome.ts, from the columns in scope. */
export function outcomeNow(sql: Sql) {
  return sql`case when complained > 0 then 'complained' when bounced > 0 then 'bounced' when failed > 0 then 'failed'
    when suppressed > 0 then 'suppressed' when delayed > 0 then 'delayed' when open > 0 then 'queued' when canceled > 0 then 'canceled'
    when sent > 0 then 'sent' else 'delivered' end`;
}

/** Assignments for an update of `emails e` that keeps the counts right. An update of another program changes only updated_at. */
export function countedNow(sql: Sql) {
  return sql`updated_at = now(), counted_at = case when e.counted_at = e.updated_at then now() else e.counted_at end`;
}

/**
 * CTEs for a statement with the CTEs `mail`, its locked emails (`countColumns`), and `moves`, the recipients that get another status:
 * workspace_id, email_id, was, status, reply. They update the emails and list each one under its new outcome.
 */
export function countMoves(sql: Sql, tables: Tables = tablesOf(sql, undefined)) {
  return sql`
    moved as (
      select workspace_id, email_id,
        count(*) filter (where was in ('queued', 'delayed')) - count(*) filter (where status = 'delayed') as closed,
        count(*) filter (where was in ('queued', 'delayed') and status in ('delivered', 'sent')) as accepted,
        count(*) filter (where status = 'delayed') - count(*) filter (where was = 'delayed') as delayed,
        count(*) filter (where status = 'delivered') - count(*) filter (where was = 'delivered') as delivered,
        count(*) filter (where status = 'sent') - count(*) filter (where was = 'sent') as sent,
        count(*) filter (where status = 'bounced') as bounced, count(*) filter (where status = 'failed') as failed,
        count(*) filter (where status = 'suppressed') as suppressed, count(*) filter (where status = 'canceled') as canceled,
        -- The message must not depend on the order in which recipients are settled, hence max().
        max(reply) filter (where status = 'delayed') as delay, max(reply) filter (where status in ('delivered', 'sent')) as acceptance,
        max(reply) filter (where status not in ('delayed', 'delivered', 'sent')) as refusal
      from moves group by workspace_id, email_id
    ), tally as materialized (
      select t.*, m.was, n.outcome, m.counted_at is not null as known
      from moved t join (select *, ${outcomeNow(sql)} as was from mail) m on m.workspace_id = t.workspace_id and m.id = t.email_id
      cross join lateral (select ${outcomeNow(sql)} as outcome from (
        select m.complained, m.bounced + t.bounced as bounced, m.failed + t.failed as failed, m.suppressed + t.suppressed as suppressed,
          m.delayed + t.delayed as delayed, m.open - t.closed as open, m.canceled + t.canceled as canceled, m.sent + t.sent as sent) c) n
    ), email as (
      update ${tables("emails")} e set open = e.open - t.closed, accepted = e.accepted + t.accepted,
        status = case when e.open > t.closed then 'queued' when e.accepted + t.accepted > 0 then 'sent' else 'failed' end,
        status_message = case when e.open > t.closed or t.closed = 0 then coalesce(t.delay, e.status_message)
          when e.accepted + t.accepted = 0 then t.refusal when e.accepted + t.accepted = e.total then t.acceptance
          else format('accepted for %s of %s recipients', e.accepted + t.accepted, e.total) end,
        delayed = e.delayed + t.delayed, delivered = e.delivered + t.delivered, sent = e.sent + t.sent, bounced = e.bounced + t.bounced,
        failed = e.failed + t.failed, suppressed = e.suppressed + t.suppressed, canceled = e.canceled + t.canceled, ${countedNow(sql)}
      from tally t where e.workspace_id = t.workspace_id and e.id = t.email_id
    ), ${listTallied(sql)}`;
}

/** CTEs for a statement with a CTE `mail`: at most one locked email (`countColumns`), about which a recipient complained. */
export function countComplaint(sql: Sql) {
  return sql`
    tally as materialized (
      select workspace_id, id as email_id, ${outcomeNow(sql)} as was, 'complained' as outcome, counted_at is not null as known from mail
    ), email as (
      update emails e set complained = e.complained + 1, ${countedNow(sql)}
      from tally t where e.workspace_id = t.workspace_id and e.id = t.email_id
    ), ${listTallied(sql)}`;
}

/** Moves the rows of email_outcomes. Row by row through the primary key: with the statistics of an empty table, a join would read all of it. */
function listTallied(sql: Sql) {
  return sql`
    unlisted as (
      delete from email_outcomes where ctid = any(array(
        select o.ctid from tally t cross join lateral (
          select ctid from email_outcomes where workspace_id = t.workspace_id and outcome = t.was and email_id = t.email_id limit 1) o
        where t.was <> t.outcome))
    ), listed as (
      insert into email_outcomes (workspace_id, outcome, email_id)
      select workspace_id, outcome, email_id from tally where known and was <> outcome and outcome not in ('sent', 'delivered')
      on conflict do nothing
    )`;
}
