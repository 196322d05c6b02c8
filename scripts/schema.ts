/** Dumps the schema that the migrations create into src/postgres/schema.txt, so that changes show in review. With --check, compares it with
 * the committed dump. Part of npm run generate and npm run check. */
import { readFile, writeFile } from "node:fs/promises";
import type { Sql } from "../src/postgres/pool.ts";
import { createTestDatabase, startTestServer } from "../test/harness/database.ts";

const file = new URL("../src/postgres/schema.txt", import.meta.url);

const server = await startTestServer();
process.env.TEST_DATABASE_URL = server.url;
let text: string;
try {
  const database = await createTestDatabase();
  text = await dump(database.sql);
  await database.drop();
} finally {
  await server.stop();
}

if (process.argv.includes("--check")) {
  if ((await readFile(file, "utf8").catch(() => "")) !== text) {
    process.stderr.write("src/postgres/schema.txt does not match the migrations. Run: npm run generate\n");
    process.exit(1);
  }
} else {
  await writeFile(file, text);
  process.stdout.write("src/postgres/schema.txt written\n");
}

/** Tables with their columns, constraints and indexes, then functions, by name. Partitions are left out: they repeat their parent and change over time. */
async function dump(sql: Sql): Promise<string> {
  const tables = await sql<{ oid: number; name: string; partition: string | null }[]>`
    select c.oid, c.relname as name, pg_get_partkeydef(c.oid) as partition from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition order by c.relname`;
  const parts: string[] = [
    "The schema as the migrations make it. Written by npm run generate; checked by npm run check.\n",
  ];
  for (const table of tables) {
    const columns = await sql<{ line: string }[]>`
      select format('  %s %s%s%s', a.attname, format_type(a.atttypid, a.atttypmod), case when a.attnotnull then ' not null' else '' end,
        case when a.attidentity <> '' then ' identity' when d.adbin is not null then ' default ' || pg_get_expr(d.adbin, d.adrelid) else '' end) as line
      from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where a.attrelid = ${table.oid} and a.attnum > 0 and not a.attisdropped order by a.attnum`;
    // PostgreSQL 18 lists not-null constraints, older versions do not. The columns show them already.
    const constraints = await sql<{ line: string }[]>`
      select format('  %s: %s', conname, pg_get_constraintdef(oid)) as line from pg_constraint
      where conrelid = ${table.oid} and contype <> 'n' order by conname`;
    const indexes = await sql<{ line: string }[]>`
      select format('  %s', regexp_replace(pg_get_indexdef(indexrelid), '^CREATE (UNIQUE )?INDEX', 'index \\1')) as line from pg_index
      where indrelid = ${table.oid} and not indisprimary order by 1`;
    const lines = [...columns, ...constraints, ...indexes].map((row) => row.line);
    parts.push(`${table.name}${table.partition ? ` partitioned by ${table.partition}` : ""}\n${lines.join("\n")}\n`);
  }
  return [...parts, await functions(sql)].join("\n");
}

async function functions(sql: Sql): Promise<string> {
  const rows = await sql<{ line: string }[]>`
    select pg_get_functiondef(oid) as line from pg_proc where pronamespace = 'public'::regnamespace order by proname`;
  return rows.map(({ line }) => line).join("\n");
}
