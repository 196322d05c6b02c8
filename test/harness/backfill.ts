/** A table with thousands of rows and a backfill for it, for the tests of src/postgres/backfill.ts. */
import type { Backfill } from "../../src/postgres/backfill.ts";
import type { Sql } from "../../src/postgres/pool.ts";

export const thingRows = 5_000;

export async function createThings(sql: Sql): Promise<void> {
  await sql.unsafe(`create table things (id int primary key, name text not null, upper text, visits int not null default 0);
    insert into things (id, name) select n, 'thing ' || n from generate_series(1, ${thingRows}) n`);
}

/** Fills `upper` from `name`, by primary key; counts how often it wrote each row. */
export const uppers: Backfill = {
  name: "upper names",
  since: 3,
  async batch(tx, position, limit) {
    const [done] = await tx<{ last: number | null; rows: number }[]>`
      with page as (select id from things where id > ${Number(position ?? 0)} order by id limit ${limit}),
        filled as (update things t set upper = upper(t.name), visits = visits + 1 from page where t.id = page.id and t.upper is null returning 1)
      select (select max(id) from page) as last, (select count(*)::int from filled) as rows`;
    return { position: done!.last === null ? null : String(done!.last), rows: done!.rows };
  },
};

export async function missing(sql: Sql): Promise<number> {
  const [row] = await sql<{ n: number }[]>`select count(*)::int as n from things where upper is null`;
  return row!.n;
}
