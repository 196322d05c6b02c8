/** Migrates a database in a process of its own, so that a test can kill it: node migrate-child.ts URL FOLDER. */
import { silentLog } from "../../src/ops/log.ts";
import { openDb } from "../../src/store/db.ts";
import { migrate } from "../../src/store/migrate.ts";

const sql = openDb({ url: process.argv[2]!, pool: 2, log: silentLog(), name: "migrating" });
await migrate(sql, silentLog(), { folder: new URL(process.argv[3]!) });
await sql.end();
