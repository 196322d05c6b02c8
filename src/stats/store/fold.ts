/**
 * Counts new mail into the hours of table `stats`, each event and each email once. groups.ts does the same for the dimensions. ListEmails finds
 * the emails of a site from then on. count-loop.ts calls it on every housekeeping node.
 */
import { indexSites } from "../../emails/store/sites.ts";
import { firstUuidAt } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { planOnce } from "../../postgres/sql.ts";
import { addCounts, addEvents, type Counts, type HourCounts, keepLargest, noCounts, siteOfEvents } from "../rules.ts";
import { storedGroups } from "./groups.ts";
import {
  type CountLimits,
  countedHourEnd,
  emailLagMs,
  type HourKey,
  isAhead,
  lastEmail,
  lockMarks,
  type Mark,
  ofWorkspace,
  openFromMs,
  readUncountedEmails,
  readUncountedEvents,
  recountEmails,
  setBack,
  sumEmails,
  sumRows,
  type UncountedEmails,
  type UncountedEvents,
} from "./uncounted.ts";

/** `behind`: more mail is left to count; call again at once. */
export type FoldResult = { events: number; emails: number; behind: boolean };

/**
 * Counts and marks change in one transaction, under a lock on the mark. If the process is killed before its end, nothing is
 * counted, and two nodes never count the same workspace at once. Writers of mail never wait for this lock.
 */
export async function foldStats(sql: Sql, limits: CountLimits): Promise<FoldResult> {
  await sql`
    insert into stats_marks (workspace_id) select workspace_id from event_counters c
    where not exists (select 1 from stats_marks m where m.workspace_id = c.workspace_id) on conflict do nothing`;
  return await sql.begin(async (tx) => {
    await planOnce(tx);
    const locked = await lockMarks(tx, limits);
    if (locked.length === 0) return { events: 0, emails: 0, behind: false };
    const { nowMs, rows: limit } = limits;
    const leftBehind = await recountAhead(tx, locked, limits);
    const marks = locked.map((mark) => (isAhead(mark, nowMs) ? setBack(mark, nowMs) : mark));
    const events = await readUncountedEvents(tx, marks, limits);
    const range = { after: (mark: Mark) => mark.emailsTo, beforeMs: nowMs - emailLagMs, limit };
    const emails = await readUncountedEmails(tx, marks, range);
    const caughtUp = marks.filter((mark) => sumEmails(emails, mark) < limit);
    const openFrom = openFromMs(nowMs);
    const recounted = [...leftBehind, ...(await recountEmails(tx, caughtUp, { rows: limit, beforeMs: openFrom }))];
    const isOfAll = ({ dimension }: { dimension: string }) => dimension === "";
    const hours = await storedHours(tx, [...events, ...emails, ...recounted].filter(isOfAll));
    for (const group of events.filter(isOfAll)) hours.change(group, (hour) => addEvents(hour, group));
    for (const group of emails.filter(isOfAll))
      hours.change(group, (hour) => {
        hour.all = addCounts(hour.all, acceptedIn(group));
      });
    // After the new emails, because a recounted hour already includes them.
    for (const { emails, recipients, ...at } of recounted.filter(isOfAll))
      hours.change(at, (hour) => {
        hour.all = { ...hour.all, emails, accepted: recipients };
      });
    const moved = marks.map((mark) => ({
      ...movedEvents(mark, ofWorkspace(events, mark)),
      ...movedEmails(mark, lastEmail(emails, mark), caughtUp.includes(mark) ? openFrom : undefined),
    }));
    const groups = await storedGroups(tx, { events, emails, recounted });
    await groups.write();
    await indexSites(tx, emailsAtSites(events));
    await write(tx, hours.rows(), moved);
    const eventsOf = (mark: Mark) => sumRows(ofWorkspace(events, mark));
    return {
      events: marks.reduce((sum, mark) => sum + eventsOf(mark), 0),
      emails: marks.reduce((sum, mark) => sum + sumEmails(emails, mark), 0),
      behind:
        marks.length === limits.workspaces || marks.some((mark) => eventsOf(mark) >= limit || !caughtUp.includes(mark)),
    };
  });
}

/** Counts the hours once more that a clock left when it went back: their emails are not read again before the clock gets there. */
async function recountAhead(tx: Sql, marks: readonly Mark[], limits: CountLimits): Promise<UncountedEmails[]> {
  const found: UncountedEmails[] = [];
  for (const mark of marks.filter((one) => isAhead(one, limits.nowMs)))
    found.push(...(await recountEmails(tx, [mark], { rows: limits.rows, beforeMs: countedHourEnd(mark) })));
  return found;
}

function emailsAtSites(events: readonly UncountedEvents[]) {
  return events.flatMap((group) => {
    const site = siteOfEvents(group);
    const { workspaceId, emailIds } = group;
    return site && emailIds ? [...new Set(emailIds)].map((id) => ({ workspaceId, id, site })) : [];
  });
}

type StatsRow = Counts & { workspaceId: string; hourMs: number; site: string };

/** Loads the stored counts of these hours, to be changed and written back. Primary key. */
async function storedHours(tx: Sql, touched: readonly HourKey[]) {
  const keys = [...new Map(touched.map((at) => [keyOf(at), at])).values()];
  const rows = await tx<StatsRow[]>`
    select s.workspace_id as "workspaceId", (extract(epoch from s.hour) * 1000)::float8 as "hourMs", s.site, s.emails, s.accepted,
      s.delivered, s.sent, s.bounced, s.delayed, s.complained, s.suppressed, s.failed, s.canceled, s.times
    from unnest(${keys.map((at) => at.workspaceId)}::uuid[], ${keys.map((at) => new Date(at.hourMs))}::timestamptz[]) as k(workspace_id, hour)
    join stats s on s.workspace_id = k.workspace_id and s.hour = k.hour`;
  const hours = new Map(keys.map((at) => [keyOf(at), { at, hour: emptyHour() }]));
  for (const { workspaceId, hourMs, site, ...counts } of rows) {
    const { hour } = hours.get(keyOf({ workspaceId, hourMs }))!;
    if (site === "") hour.all = counts;
    else hour.sites.set(site, counts);
  }
  return {
    change(at: HourKey, by: (hour: HourCounts) => void): void {
      by(hours.get(keyOf(at))!.hour);
    },
    rows: () =>
      [...hours.values()].flatMap(({ at, hour }) =>
        [["", hour.all] as const, ...keepLargest(hour.sites)].map(([site, counts]) => ({
          workspace_id: at.workspaceId,
          hour: new Date(at.hourMs),
          site,
          ...counts,
        })),
      ),
  };
}

function keyOf({ workspaceId, hourMs }: HourKey): string {
  return `${workspaceId} ${hourMs}`;
}

function emptyHour(): HourCounts {
  return { all: noCounts(), sites: new Map() };
}

function acceptedIn({ emails, recipients }: UncountedEmails): Counts {
  return { ...noCounts(), emails, accepted: recipients };
}

function movedEvents(mark: Mark, events: readonly UncountedEvents[]) {
  const numbers = [mark.eventsTo, ...events.map(({ upTo }) => upTo)].map(BigInt);
  return {
    workspace_id: mark.workspaceId,
    events_to: numbers.reduce((a, b) => (a > b ? a : b)).toString(),
  };
}

/** The mark moves past recounted hours, so that an email committed between the two queries is not counted again by id. */
function movedEmails(mark: Mark, last: string | undefined, recountedTo: number | undefined) {
  const known = [mark.emailsTo, ...(last ? [last] : []), ...(recountedTo ? [firstUuidAt(recountedTo)] : [])];
  return {
    emails_to: known.sort().at(-1)!,
    recounted_to: new Date(Math.max(mark.recountedTo.getTime(), recountedTo ?? 0)),
  };
}

/** Also deletes the rows of sites that are no longer among the largest of their hour. Primary keys. */
async function write(tx: Sql, rows: readonly object[], marks: readonly object[]): Promise<void> {
  await tx`
    with input as materialized (
      select * from json_populate_recordset(null::stats, ${JSON.stringify(rows)}::text::json)
    ), deleted as (
      delete from stats s using (select distinct workspace_id, hour from input) t
      where s.workspace_id = t.workspace_id and s.hour = t.hour
        and not exists (select 1 from input i where i.workspace_id = s.workspace_id and i.hour = s.hour and i.site = s.site)
    ), marked as (
      update stats_marks m set events_to = n.events_to, events_at = (select service_time()), emails_to = n.emails_to, recounted_to = n.recounted_to
      from json_populate_recordset(null::stats_marks, ${JSON.stringify(marks)}::text::json) n where m.workspace_id = n.workspace_id
    )
    insert into stats select * from input
    on conflict (workspace_id, hour, site) do update set emails = excluded.emails, accepted = excluded.accepted,
      delivered = excluded.delivered, sent = excluded.sent, bounced = excluded.bounced, delayed = excluded.delayed,
      complained = excluded.complained, suppressed = excluded.suppressed, failed = excluded.failed, canceled = excluded.canceled,
      times = excluded.times`;
}
