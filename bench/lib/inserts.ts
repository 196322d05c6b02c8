/** The limit of accepting: bare inserts of the same rows, in batches as large as those of accepting. */
import type { Sql } from "../../src/postgres/pool.ts";

const perCommit = 32;
const writers = 2;

type Batch = { emails: string; recipients: string; contents: string };

/** Emails per second. Reads the rows of the newest emails from the tables, empties the tables, and inserts the rows again. */
export async function rawInserts(sql: Sql, count: number): Promise<number> {
  const ids = await sql<{ id: string }[]>`select id from emails order by id desc limit ${count}`;
  const batches: Batch[] = [];
  for (let i = 0; i < ids.length; i += perCommit) {
    const some = ids.slice(i, i + perCommit).map(({ id }) => id);
    const [batch] = await sql<Batch[]>`
      select (select json_agg(e)::text from emails e where id = any(${some}::uuid[])) as emails,
        (select json_agg(r)::text from recipients r where email_id = any(${some}::uuid[])) as recipients,
        (select json_agg(c)::text from email_contents c where email_id = any(${some}::uuid[])) as contents`;
    batches.push(batch!);
  }
  await sql`truncate emails, recipients, email_contents`;
  let next = 0;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: writers }, async () => {
      while (next < batches.length) {
        const { emails, recipients, contents } = batches[next++]!;
        await sql`
          with email as (insert into emails select * from json_populate_recordset(null::emails, (${emails}::text)::json)),
            recipient as (insert into recipients select * from json_populate_recordset(null::recipients, (${recipients}::text)::json))
          insert into email_contents select * from json_populate_recordset(null::email_contents, (${contents}::text)::json)`;
      }
    }),
  );
  return ids.length / ((performance.now() - began) / 1000);
}
