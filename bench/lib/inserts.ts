/** The limit of accepting: the same rows put into the same tables again, in batches as large as accepting makes them, and nothing else done. */
import type { Sql } from "../../src/store/db.ts";

const perCommit = 32;
const lanes = 2;

type Batch = { emails: string; recipients: string; contents: string };

/** Emails per second. Takes what lies in the tables, empties them, and leaves the rows there again. */
export async function rawInserts(sql: Sql): Promise<number> {
  const ids = await sql<{ id: string }[]>`select id from emails order by id`;
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
    Array.from({ length: lanes }, async () => {
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
