/** Seals the texts of a column anew with the active secret, in small batches, while programs read and write them. It can be killed at any
 * moment and run again: a text is replaced only by the same content, and only if it is still the one that was read. Called by
 * replace-secret.ts and, to count, at the start of a program. */
import type { Sql } from "./pool.ts";
import type { Secrets } from "./sealing.ts";

/** A column with sealed texts. Table, column and key are names in SQL, never input. */
export type SealedColumn = {
  table: string;
  column: string;
  /** The columns of the primary key, all of type uuid. */
  key: readonly string[];
  /** The context with which a row's text is sealed, from the values of its key. */
  context(key: readonly string[]): string;
};

export type Resealed = {
  resealed: number;
  /** The keys of rows whose text no held secret opens. */
  unreadable: string[];
};

const batchSize = 100;

/** One pass over the rows that are not sealed with the active secret. Rows that a program writes meanwhile may be left for the next pass. */
export async function resealColumn(
  sql: Sql,
  { column, secrets, onBatch }: { column: SealedColumn; secrets: Secrets; onBatch(resealed: number): void },
): Promise<Resealed> {
  const done: Resealed = { resealed: 0, unreadable: [] };
  let after: readonly string[] | undefined;
  for (;;) {
    const rows = await readBatch(sql, column, { prefix: secrets.sealPrefix(), after });
    const changes = rows.flatMap(({ key, sealed }) => {
      const context = column.context(key);
      try {
        return [{ key, sealed, anew: secrets.seal(secrets.open(sealed, context), context) }];
      } catch {
        done.unreadable.push(`${column.table} ${key.join(" ")}`);
        return [];
      }
    });
    done.resealed += await replaceTexts(sql, column, changes);
    onBatch(done.resealed);
    if (rows.length < batchSize) return done;
    after = rows.at(-1)!.key;
  }
}

/** How many texts are not sealed with the active secret in the form that names it. */
export async function countSealedOtherwise(sql: Sql, column: SealedColumn, prefix: string): Promise<number> {
  const { table, name } = namesOf(sql, column);
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from ${table} where not starts_with(${name}, ${prefix})`;
  return row!.count;
}

/** In the order of the primary key. Null is not sealed. */
async function readBatch(
  sql: Sql,
  column: SealedColumn,
  { prefix, after }: { prefix: string; after: readonly string[] | undefined },
): Promise<{ key: string[]; sealed: string }[]> {
  const { table, name, key } = namesOf(sql, column);
  const last = after?.map((value) => sql`${value}::uuid`).reduce((a, b) => sql`${a}, ${b}`);
  return await sql<{ key: string[]; sealed: string }[]>`
    select array[${key}]::text[] as key, ${name} as sealed from ${table}
    where not starts_with(${name}, ${prefix}) ${last ? sql`and (${key}) > (${last})` : sql``}
    order by ${key} limit ${batchSize}`;
}

/** Returns the number of replaced texts. */
async function replaceTexts(
  sql: Sql,
  column: SealedColumn,
  changes: readonly { key: readonly string[]; sealed: string; anew: string }[],
): Promise<number> {
  if (changes.length === 0) return 0;
  const { table, name } = namesOf(sql, column);
  const lists = column.key.map((_, i) => sql`${changes.map(({ key }) => key[i]!)}::uuid[]`);
  const keys = lists.reduce((a, b) => sql`${a}, ${b}`);
  const columns = sql.unsafe(column.key.map((_, i) => `k${i}`).join(", "));
  const isRow = sql.unsafe(column.key.map((one, i) => `t.${one} = n.k${i}`).join(" and "));
  const rows = await sql`
    update ${table} t set ${name} = n.anew
    from unnest(${keys}, ${changes.map(({ sealed }) => sealed)}::text[], ${changes.map(({ anew }) => anew)}::text[]) as n(${columns}, sealed, anew)
    where ${isRow} and t.${name} = n.sealed returning 1`;
  return rows.length;
}

function namesOf(sql: Sql, { table, column, key }: SealedColumn) {
  return { table: sql.unsafe(table), name: sql.unsafe(column), key: sql.unsafe(key.join(", ")) };
}
