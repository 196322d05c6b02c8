/** Checks that released migrations are unchanged and new ones follow the rules (migration-rules.ts). Part of npm run check. */
import { readFile } from "node:fs/promises";
import { backfills } from "../src/app/backfills.ts";
import { migrationsFolder, readMigrations } from "../src/postgres/migration-files.ts";
import { faultsOfFolder } from "./migration-rules.ts";

const released = await readFile(new URL("released.txt", migrationsFolder), "utf8");
const migrations = await readMigrations();
const faults = faultsOfFolder(migrations, released, backfills);
if (faults.length > 0) {
  process.stderr.write(`${faults.join("\n")}\nThe rules and their reasons: docs/decisions/0022-migrations.md\n`);
  process.exit(1);
}
process.stdout.write(`${migrations.length} migrations follow the rules.\n`);
