/** Counts and lists replies whose wording no rule knows. Called by ../wordings.ts in batches, by OperatorService, housekeeping and commands. */
import type { Sql } from "../../postgres/pool.ts";
import { admit, type WordingLimits } from "../rules/admission.ts";

export type CountedWording = {
  site: string;
  phase: string;
  code: number;
  enhanced: string;
  shape: string;
  category: string;
  replies: number;
};

export type UnknownWording = CountedWording & { id: string; firstAt: Date; lastAt: Date };

/** The table has at most a thousand rows, so that a lock on all of it is short. Readers do not wait. */
export async function countWordings(
  sql: Sql,
  counted: readonly CountedWording[],
  makeId: () => string,
  limits?: WordingLimits,
): Promise<void> {
  const input = JSON.stringify(counted.map((row, ord) => ({ ord, ...row })));
  await sql.begin(async (tx) => {
    await tx`lock table unknown_wordings in share row exclusive mode`;
    const known = await tx<{ ord: number }[]>`
      update unknown_wordings w set replies = w.replies + i.replies, category = i.category, last_at = (select service_time())
      from json_to_recordset((${input}::text)::json)
        as i(ord integer, site text, phase text, code integer, enhanced text, shape text, category text, replies bigint)
      where (w.site, w.phase, w.code, w.enhanced, w.shape) = (i.site, i.phase, i.code, i.enhanced, i.shape) returning i.ord`;
    const old = new Set(known.map(({ ord }) => ord));
    const fresh = counted.filter((_, ord) => !old.has(ord));
    if (fresh.length === 0) return;
    const sites = await tx<{ site: string; rows: number }[]>`
      select site, count(*)::int as rows from unknown_wordings group by site order by min(last_at), site`;
    const { inserted, evicted } = admit(new Map(sites.map(({ site, rows }) => [site, rows])), fresh, limits);
    for (const [site, rows] of evicted)
      await tx`delete from unknown_wordings where id in (
        select id from unknown_wordings where site = ${site} order by last_at, id limit ${rows})`;
    const added = JSON.stringify(inserted.map((row) => ({ id: makeId(), ...row })));
    await tx`
      insert into unknown_wordings (id, site, phase, code, enhanced, shape, category, replies, first_at, last_at)
      select i.*, (select service_time()), (select service_time()) from json_to_recordset((${added}::text)::json)
        as i(id uuid, site text, phase text, code integer, enhanced text, shape text, category text, replies bigint)`;
  });
}

export type WordingPage = { before?: string; limit: number; site?: string };

/** The most frequent first. A row that has been evicted since the last page ends the list. */
export async function listWordings(sql: Sql, { before, limit, site }: WordingPage): Promise<UnknownWording[]> {
  const rows = await sql<(Omit<UnknownWording, "replies"> & { replies: string })[]>`
    select id, site, phase, code, enhanced, shape, category, replies, first_at as "firstAt", last_at as "lastAt" from unknown_wordings w
    where ${site === undefined ? sql`true` : sql`w.site = ${site}`}
      and ${before === undefined ? sql`true` : sql`(w.replies, w.id) < (select b.replies, b.id from unknown_wordings b where b.id = ${before})`}
    order by w.replies desc, w.id desc limit ${limit}`;
  return rows.map((row) => ({ ...row, replies: Number(row.replies) }));
}

/** Shapes with at least `replies` replies that were seen within a week, for posthorn doctor. */
export async function countFrequentWordings(sql: Sql, replies: number): Promise<{ shapes: number; replies: number }> {
  const [row] = await sql<{ shapes: number; replies: string }[]>`
    select count(*)::int as shapes, coalesce(sum(replies), 0)::bigint as replies from unknown_wordings
    where replies >= ${replies} and last_at > (select service_time()) - interval '7 days'`;
  return { shapes: row!.shapes, replies: Number(row!.replies) };
}

/** Housekeeping: a wording that has not been seen for a month is of no use, or a new version knows it. */
export async function forgetWordings(sql: Sql): Promise<void> {
  await sql`delete from unknown_wordings where last_at < (select service_time()) - interval '30 days'`;
}
