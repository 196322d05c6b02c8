/**
 * Stores new emails: each with its recipients, content and idempotency key, many emails in one statement. Called by
 * accept.ts and batches.ts.
 */

import type { ContentStore } from "../../objects/content-store.ts";
import { noteUnused, withEmailObjects } from "../../objects/store/objects.ts";
import { Problem } from "../../ops/problem.ts";
import { byteaArray, intArray, textArray, uuidArray } from "../../postgres/arrays.ts";
import { createGroupCommit } from "../../postgres/group-commit.ts";
import type { Sql } from "../../postgres/pool.ts";
import { serviceTime } from "../../postgres/service-clock.ts";
import { noDefaults, type QuotaDefaults } from "../../quotas/rules/limits.ts";
import {
  counted,
  countStored,
  createUsageSlots,
  fittingRest,
  type QuotaRefusal,
  quotaProblem,
  refusalColumns,
  refused,
  repeatedOnRace,
} from "../../quotas/store/sending.ts";
import type { BlockedDomain } from "../rules/check.ts";
import { countedAs, isSystemMail, type NewEmail, requestedEmails, willBeRefused } from "./new-email.ts";
import { createPartPreparer, newObjectsOf, objectsOf, partLength } from "./parts.ts";
import { type ContentPiece, insertPieces, pieceLength, piecesOf } from "./pieces.ts";

export type { Envelope, NewEmail } from "./new-email.ts";

/** The email is stored, or its idempotency key was already used for `emailId`, or its domain or its workspace may not send. */
export type Accepted =
  | { stored: true }
  | { stored: false; emailId: string; messageId: string; requestHash: string }
  | { stored: false; emailId: undefined; refused: Problem }
  | { stored: false; emailId: undefined; domain: BlockedDomain | undefined };

/** The most content in one statement. */
export const batchBytes = 1024 * 1024;

export type EmailStore = { accept(email: NewEmail): Promise<Accepted>; idle(): Promise<void> };

export type EmailStoreOptions = {
  /** Undefined: all content is in the database. */
  contents?: ContentStore;
  concurrency?: number;
  minIntervalMs?: number;
  /** The quotas of workspaces without their own. Default: unlimited. */
  quotas?: QuotaDefaults;
  /** Called with emails right after they were committed together. */
  onStored?(emails: readonly NewEmail[]): void;
};

export function createEmailStore(sql: Sql, options: EmailStoreOptions = {}): EmailStore {
  const { quotas = noDefaults } = options;
  const nextSlot = createUsageSlots();
  const prepareParts = createPartPreparer(sql, options.contents);
  const group = createGroupCommit<NewEmail, Accepted>({
    run: acceptTogether,
    maxItems: 200,
    maxBytes: batchBytes,
    // bench/send with 64 concurrent callers: 3,000/s with two statements at any time, 3,450/s if the second one starts only
    // while the first is stuck, 3,950/s if a batch also takes only half of the waiting emails (`halveAboveItems`).
    concurrency: options.concurrency ?? 2,
    parallelAfterMs: 20,
    minIntervalMs: options.minIntervalMs,
    halveAboveItems: 32,
    keyOf,
    // SQLSTATE class 22 is bad data, 23 a violated constraint: one row is at fault. Other errors would fail again.
    splitOn: (error) => /^2[23]/.test(String((error as { code?: string }).code)),
  });
  return {
    async accept(given) {
      const email = await prepareParts(given, () => willBeRefused(sql, [given], { quotas }));
      const bytes = email.parts.reduce((sum, part) => sum + partLength(part), 0);
      const stored = await (bytes <= batchBytes ? group.add(email, bytes) : acceptAlone(email));
      if (!stored.stored) await noteUnused(sql, objectsOf(email.parts));
      return stored;
    },
    idle: group.idle,
  };

  async function acceptAlone(email: NewEmail): Promise<Accepted> {
    return await answer([email], await acceptLarge(sql, email, quotas))[0]!;
  }

  /** Emails that a quota refused only because of others that were not stored get a second statement. Its errors concern only them. */
  async function acceptTogether(emails: NewEmail[]) {
    const accept = (some: NewEmail[]) => acceptBatch(sql, some, { quotas, slot: nextSlot() });
    const leftOut = await accept(emails);
    const fitting = leftOut.length === 0 ? undefined : fittingRest(sorted(emails).map(countedAs), leftOut);
    if (!fitting?.size) return answer(emails, leftOut);
    const again = emails.filter(({ id }) => fitting.has(id));
    const second = accept(again).then((left) => answer(again, left));
    const others = emails.filter(({ id }) => !fitting.has(id));
    const answers = answer(others, leftOut);
    await Promise.allSettled([second]);
    return emails.map((email) =>
      fitting.has(email.id) ? second.then((all) => all[again.indexOf(email)]!) : answers[others.indexOf(email)]!,
    );
  }

  function answer(emails: readonly NewEmail[], leftOut: readonly LeftOut[]): (Accepted | Promise<Accepted>)[] {
    if (leftOut.length === 0) {
      options.onStored?.(emails);
      return emails.map(() => ({ stored: true as const }));
    }
    const left = new Set(leftOut.map(({ id }) => id));
    options.onStored?.(emails.filter(({ id }) => !left.has(id)));
    return answersFor(sql, emails, leftOut);
  }
}

async function acceptBatch(
  sql: Sql,
  emails: NewEmail[],
  options: Pick<InsertOptions, "quotas" | "slot">,
): Promise<LeftOut[]> {
  const pieces = emails.flatMap((email) => [...piecesOf(email)]);
  return await repeatedOnRace(() => insertEmails(sql, sorted(emails), { ...options, pieces }));
}

/** Keys are inserted in sorted order, so that two nodes with the same keys cannot deadlock. */
function sorted(emails: readonly NewEmail[]): NewEmail[] {
  return [...emails].sort((a, b) => ((a.idempotency?.key ?? "") < (b.idempotency?.key ?? "") ? -1 : 1));
}

/** Inserts content that is too large for one statement in pieces within one transaction, so that other calls run in between. */
async function acceptLarge(sql: Sql, email: NewEmail, quotas: QuotaDefaults): Promise<LeftOut[]> {
  return await repeatedOnRace(() =>
    sql.begin(async (tx) => {
      const leftOut = await insertEmails(tx, [email], { quotas });
      if (leftOut.length > 0) return leftOut;
      let slice: ContentPiece[] = [];
      for (const piece of piecesOf(email)) {
        slice.push(piece);
        if (slice.length < batchBytes / pieceLength) continue;
        await insertPieces(tx, slice);
        slice = [];
      }
      await insertPieces(tx, slice);
      // At the end, because it locks the workspace's count until the commit.
      await countEmails(tx, [email], quotas);
      return leftOut;
    }),
  );
}

/** An email that was not stored: its domain or its workspace may not send, or its idempotency key was already used. */
export type LeftOut = {
  id: string;
  canSend: boolean | null;
  status: string | null;
  note: string | null;
} & QuotaRefusal;

export type InsertOptions = {
  quotas: QuotaDefaults;
  /** Where unlimited workspaces are counted. */
  slot?: number;
  /** All content of the emails, which are counted in the same statement. Undefined: content follows, and then a call of countEmails. */
  pieces?: ContentPiece[];
};

/** Returns the emails that were not stored, nearly always none. */
export async function insertEmails(
  sql: Sql,
  emails: NewEmail[],
  { quotas, slot, pieces: content }: InsertOptions,
): Promise<LeftOut[]> {
  const pieces = content ?? [];
  const countsNow = content !== undefined;
  const objects = emails.flatMap(newObjectsOf);
  const foreign = emails.filter(({ isForeignId }) => isForeignId).map(({ id }) => id);
  const hasKeys = emails.some(({ idempotency }) => idempotency !== undefined);
  const recipients = emails.flatMap(recipientRows);
  return await sql.write<LeftOut[]>`
    with ${requestedEmails(sql, emails)}, ${refused(sql, quotas, slot)}, input as (
      select * from requested where can_send and id not in (select id from refused)
    )${hasKeys ? claimedKeys(sql) : sql``}, storable as (
      -- When it is due by both clocks: the wall time is shown, service time decides.
      select *, greatest((select stamp_time()), scheduled_at) as first_at,
        greatest(${serviceTime(sql)}, scheduled_at - (select wall_at - service_at from service_clock)) as due_at
      from input ${hasKeys ? sql`where idempotency_key is null or id in (select email_id from claimed)` : sql``}
    ), mail as (
      insert into emails (workspace_id, id, key_id, domain_id, domain, from_address, subject, message_id, envelope, metadata, test,
        open, total, size_bytes, content_day, scheduled_at, expires_at, default_expires_at, created_at, updated_at, counted_at)
      select workspace_id, id, key_id, domain_id, domain, from_address, subject, message_id, envelope, metadata, test,
        total, total, size_bytes, (first_at at time zone 'UTC')::date, scheduled_at,
        -- delivery/store/lease.ts computes retry_for from these columns.
        coalesce(expires_at, greatest(created_at, scheduled_at) + retry_for),
        case when expires_at is null then due_at + retry_for end, created_at, created_at, created_at
      from storable
    ), outcome as (
      insert into email_outcomes (workspace_id, outcome, email_id) select workspace_id, 'queued', id from storable
    ), arrival as (
      insert into email_arrivals (workspace_id, newest, email_ids)
      select workspace_id, (array_agg(id order by id desc))[1], array_agg(id) from storable group by workspace_id
    ), queue as (
      insert into recipients (workspace_id, email_id, position, kind, address, destination, due_at)
      select s.workspace_id, s.id, r.position, r.kind, r.address, r.destination, s.due_at
      from unnest(${uuidArray(recipients.map((r) => r.emailId))}::uuid[], ${intArray(recipients.map((r) => r.position))}::integer[],
        ${textArray(recipients.map((r) => r.kind))}::text[], ${textArray(recipients.map((r) => r.address))}::text[],
        ${textArray(recipients.map((r) => r.destination))}::text[]) as r(email_id, position, kind, address, destination)
      join storable s on s.id = r.email_id
    ), content as (
      insert into email_contents (workspace_id, email_id, day, part, piece, data, bytes, object)
      select s.workspace_id, s.id, (s.first_at at time zone 'UTC')::date, p.part, p.piece, p.data, p.bytes, p.object
      from unnest(${uuidArray(pieces.map((p) => p.emailId))}::uuid[], ${intArray(pieces.map((p) => p.part))}::int[], ${intArray(pieces.map((p) => p.piece))}::int[],
        ${textArray(pieces.map((p) => p.data))}::text[], ${byteaArray(pieces.map((p) => p.bytes))}::bytea[], ${uuidArray(pieces.map((p) => p.object ?? null))}::uuid[])
        as p(email_id, part, piece, data, bytes, object)
      join storable s on s.id = p.email_id
    )${
      foreign.length > 0
        ? sql`, foreign_id as (
      insert into email_message_ids (workspace_id, message_id, email_id)
      select workspace_id, lower(message_id), id from storable where id = any(${foreign}::uuid[])
    )`
        : sql``
    }${withEmailObjects(sql, objects)}${countsNow ? sql`, ${counted(sql)}` : sql``}
    select r.id, r.can_send as "canSend", r.status, r.note, ${refusalColumns(sql)}
    from requested r join share s using (workspace_id) where r.id not in (select id from storable)`;
}

/** The CTE `claimed`: the idempotency keys that are new. Left out when no email has a key, because each insert of a statement costs time. */
function claimedKeys(sql: Sql) {
  return sql`, claimed as (
      insert into idempotency (workspace_id, key, request_hash, email_id, expires_at)
      select workspace_id, idempotency_key, request_hash, id, ${serviceTime(sql)} + kept_for from input where idempotency_key is not null
      order by workspace_id, idempotency_key
      on conflict (workspace_id, key) do update
        set request_hash = excluded.request_hash, email_id = excluded.email_id, answer = null, expires_at = excluded.expires_at
        where idempotency.expires_at < ${serviceTime(sql)}
      returning email_id
    )`;
}

/** Counts emails whose content is stored by now, as the last statement of their transaction. Mail of Posthorn itself does not count. */
export async function countEmails(sql: Sql, emails: readonly NewEmail[], quotas: QuotaDefaults): Promise<void> {
  await countStored(
    sql,
    emails.filter((email) => !isSystemMail(email)),
    quotas,
  );
}

/**
 * An email that was left out although it may be sent repeats an earlier one with the same key, which is its answer.
 * Only these few wait for the query; if it fails, the other emails are still reported as stored.
 */
function answersFor(sql: Sql, emails: readonly NewEmail[], leftOut: readonly LeftOut[]) {
  const byId = new Map(leftOut.map((row) => [row.id, row]));
  const repeated = emails.filter(({ id }) => byId.get(id)?.canSend && byId.get(id)!.refusal === null);
  const firsts = repeated.length === 0 ? undefined : findFirsts(sql, repeated);
  return emails.map((email): Accepted | Promise<Accepted> => {
    const left = byId.get(email.id);
    if (!left) return { stored: true };
    if (!left.canSend) return { stored: false, emailId: undefined, domain: blockedDomain(left) };
    const problem = quotaProblem(left);
    if (problem) return { stored: false, emailId: undefined, refused: problem };
    return firsts!.then((found) => {
      const first = found.get(keyOf(email)!);
      // The key expired between the two statements, or housekeeping deleted it: the caller can retry.
      if (!first) throw changedMeanwhile("The idempotency key expired");
      return { stored: false, ...first };
    });
  });
}

/** The email was not stored, and a second call will not meet the same state. */
export function changedMeanwhile(what: string): Problem {
  return new Problem("unavailable", `${what} during this call, so nothing was stored. Try again.`, {
    retryAfterMs: 1000,
  });
}

async function findFirsts(sql: Sql, emails: readonly NewEmail[]) {
  const rows = await sql<
    { workspaceId: string; key: string; requestHash: string; emailId: string; messageId: string }[]
  >`
    select i.workspace_id as "workspaceId", i.key, i.request_hash as "requestHash", i.email_id as "emailId", coalesce(e.message_id, '') as "messageId"
    from unnest(${emails.map((e) => e.workspaceId)}::uuid[], ${emails.map((e) => e.idempotency!.key)}::text[]) as k(workspace_id, key)
    join idempotency i using (workspace_id, key)
    -- The key of a batch names no email.
    left join emails e on e.workspace_id = i.workspace_id and e.id = i.email_id`;
  return new Map(rows.map(({ workspaceId, key, ...first }) => [`${workspaceId} ${key}`, first]));
}

function keyOf(email: NewEmail): string | undefined {
  return email.idempotency && `${email.workspaceId} ${email.idempotency.key}`;
}

function blockedDomain({ status, note }: LeftOut): BlockedDomain | undefined {
  return status === null ? undefined : { status, note: note ?? "" };
}

/** The email that an idempotency key was used for, until the key expires. */
export async function findAccepted(
  sql: Sql,
  workspaceId: string,
  key: string,
): Promise<{ emailId: string; messageId: string; requestHash: string } | undefined> {
  const [row] = await sql<{ emailId: string; messageId: string; requestHash: string }[]>`
    select i.email_id as "emailId", coalesce(e.message_id, '') as "messageId", i.request_hash as "requestHash"
    from idempotency i left join emails e on e.workspace_id = i.workspace_id and e.id = i.email_id
    where i.workspace_id = ${workspaceId} and i.key = ${key} and i.expires_at >= ${serviceTime(sql)}`;
  return row;
}

function recipientRows(email: NewEmail) {
  return email.recipients.map((recipient, position) => ({ emailId: email.id, position, ...recipient }));
}
