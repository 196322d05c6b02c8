/** Whether a fresh instance was given its example domain: asked and answered once in an instance's life. */
import type { Sql } from "./db.ts";

export async function wasExampleOffered(sql: Sql): Promise<boolean> {
  return (await sql`select 1 from settings where name = 'example_domain'`).length > 0;
}

/** False when it was done before. To be called in the transaction that adds the domain. */
export async function noteExampleOffered(sql: Sql, what: string): Promise<boolean> {
  return (
    (
      await sql`insert into settings (name, value) values ('example_domain', ${what}) on conflict (name) do nothing returning 1`
    ).length > 0
  );
}
