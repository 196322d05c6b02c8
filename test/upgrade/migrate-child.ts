/** Migrates a database in a separate process that a test can kill: node migrate-child.ts URL FOLDER. */
import { silentLog } from "../../src/ops/log.ts";
import { migrate } from "../../src/postgres/migrate.ts";
import { openDb } from "../../src/postgres/pool.ts";

const sql = openDb({ url: process.argv[2]!, pool: 2, log: silentLog(), name: "migrating" });
await migrate(sql, silentLog(), { folder: new URL(process.argv[3]!) });
await sql.end();
