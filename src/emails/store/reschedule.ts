/** Gives a scheduled email another time, with its content, its expiry and what it counts towards the stored bytes. For UpdateEmail in
 * ../service.ts; ../rules/reschedule.ts decides. */
import { moveObjects } from "../../objects/store/objects.ts";
import type { Sql } from "../../postgres/pool.ts";
import { serviceTime, stampTime } from "../../postgres/service-clock.ts";
import { isNewTime, type ScheduledState } from "../rules/reschedule.ts";
import { batchBytes } from "./emails.ts";
import { countedNow } from "./outcomes.ts";
import { pieceLength } from "./pieces.ts";

type Email = { workspaceId: string; id: string };

/** `destinations`: where the email is due at once. */
export type Rescheduled = { isChanged: boolean; destinations: string[] };

/**
 * Needs a transaction. Locks the recipients and then the email, as settling does, so that no attempt begins before the commit, and reads
 * each in the statement that locks it. Undefined: the email does not exist. Throws the Problem of an email that must keep its time.
 */
export async function rescheduleEmail(
  tx: Sql,
  email: Email,
  requested: Date,
  /** Called before content moves away from its day, and may throw. */
  beforeMove: (move: { bytes: number; day: string }) => void = () => {},
): Promise<Rescheduled | undefined> {
  const recipients = await lockRecipients(tx, email);
  const mail = await lockEmail(tx, email);
  if (!mail) return undefined;
  if (!isNewTime({ ...mail, recipients }, requested)) return { isChanged: false, destinations: [] };
  const isNow = requested.getTime() <= mail.wallMs;
  const at = isNow ? new Date(mail.wallMs) : requested;
  const contentDay = await storeTime(tx, email, { at, isNow });
  if (contentDay !== mail.contentDay) {
    const days = { from: mail.contentDay, to: contentDay };
    beforeMove({ bytes: Number(mail.sizeBytes), day: days.from });
    await moveContent(tx, email, days);
    await moveSize(tx, email, { ...days, bytes: mail.sizeBytes });
  }
  const destinations = isNow ? [...new Set(recipients.map(({ destination }) => destination))] : [];
  return { isChanged: true, destinations };
}

type LockedRecipient = ScheduledState["recipients"][number] & { destination: string };

async function lockRecipients(tx: Sql, { workspaceId, id }: Email): Promise<LockedRecipient[]> {
  return await tx<LockedRecipient[]>`
    select status, attempts, lease is not null as "isLeased", in_doubt as "inDoubt", destination from recipients
    where workspace_id = ${workspaceId} and email_id = ${id} order by position for update`;
}

type LockedEmail = Omit<ScheduledState, "recipients"> & { contentDay: string; sizeBytes: string };

async function lockEmail(tx: Sql, { workspaceId, id }: Email): Promise<LockedEmail | undefined> {
  const [row] = await tx<LockedEmail[]>`
    select created_at as "createdAt", scheduled_at as "scheduledAt", expires_at as "expiresAt", default_expires_at is null as "hasOwnExpiry",
      content_day::text as "contentDay", size_bytes as "sizeBytes", floor(extract(epoch from wall_time()) * 1000)::float8 as "wallMs"
    from emails where workspace_id = ${workspaceId} and id = ${id} for update`;
  return row;
}

/** By both clocks, as in emails.ts. Returns the day of the content. */
async function storeTime(tx: Sql, { workspaceId, id }: Email, time: { at: Date; isNow: boolean }): Promise<string> {
  const retryFor = tx`(e.expires_at - greatest(e.created_at, e.scheduled_at))`;
  const [row] = await tx<[{ day: string }]>`
    with moment as materialized (
      select greatest(${stampTime(tx)}, ${time.at}::timestamptz) as first_at, ${serviceTime(tx)} as service_at,
        ${time.at}::timestamptz - (select wall_at - service_at from service_clock) as at
    ), due as materialized (
      select first_at, case when ${time.isNow} then service_at else greatest(service_at, at) end as due_at from moment
    ), recipient as (
      update recipients r set due_at = d.due_at from due d where r.workspace_id = ${workspaceId} and r.email_id = ${id}
    )
    update emails e set scheduled_at = ${time.at}, content_day = (d.first_at at time zone 'UTC')::date,
      expires_at = case when e.default_expires_at is null then e.expires_at else greatest(e.created_at, ${time.at}::timestamptz) + ${retryFor} end,
      default_expires_at = case when e.default_expires_at is not null then d.due_at + ${retryFor} end, ${countedNow(tx)}
    from due d where e.workspace_id = ${workspaceId} and e.id = ${id} returning e.content_day::text as day`;
  return row.day;
}

const piecesAtOnce = batchBytes / pieceLength;

/** A day's content is dropped with its partition, so it moves to the partition of the new day. In slices: an email has up to 40 MiB. Not by an
 * update of `day`: while that is open, a delete of the same row fails (operators/store/deletion.ts). A statement that waits for `content move`
 * (moves.ts) finds its rows deleted, and only the next one sees the rows that replace them. */
async function moveContent(tx: Sql, { workspaceId, id }: Email, { from, to }: { from: string; to: string }) {
  for (let emptyRounds = 0; emptyRounds < 2; ) {
    const rows = await tx`
      with moved as (
        delete from email_contents where workspace_id = ${workspaceId} and email_id = ${id} and day = ${from}::date and (part, piece) in (
          select part, piece from email_contents where workspace_id = ${workspaceId} and email_id = ${id} and day = ${from}::date
          order by part, piece limit ${piecesAtOnce})
        returning workspace_id, email_id, part, piece, data, bytes, object
      )
      insert into email_contents (workspace_id, email_id, day, part, piece, data, bytes, object)
      select workspace_id, email_id, ${to}::date, part, piece, data, bytes, object from moved returning 1`;
    emptyRounds = rows.length > 0 ? 0 : emptyRounds + 1;
  }
  await moveObjects(tx, { workspaceId, id, to });
}

/**
 * Stored bytes are counted by day, and subtracted when the day's partition is dropped. The slot in which the email was counted is not
 * recorded, so its bytes are taken from the first slots of the day. In the order of days, like the statements that count new mail, and as the
 * last statement, because new mail of the workspace waits for it. Primary key.
 */
async function moveSize(tx: Sql, { workspaceId }: Email, move: { from: string; to: string; bytes: string }) {
  await tx`
    with locked as materialized (
      select day, slot, bytes from content_sizes where workspace_id = ${workspaceId} and content = 'emails'
        and day in (${move.from}::date, ${move.to}::date) order by day, slot for update
    ), source as (
      select slot, least(bytes, ${move.bytes}::bigint - taken) as bytes from (
        select slot, bytes, (sum(bytes) over (order by slot))::bigint - bytes as taken from locked where day = ${move.from}::date) s
      where taken < ${move.bytes}::bigint and bytes > 0
    )
    insert into content_sizes as c (workspace_id, content, day, slot, bytes)
    select ${workspaceId}::uuid, 'emails', d.day, s.slot, d.sign * s.bytes
    from source s cross join (values (${move.from}::date, -1), (${move.to}::date, 1)) as d(day, sign) order by d.day, s.slot
    on conflict (workspace_id, content, day, slot) do update set bytes = c.bytes + excluded.bytes`;
}
