/** posthorn migrate: brings the schema up to date without starting the program, and prints each step. */

import { type BackfillState, outstandingBackfills } from "../../postgres/backfill.ts";
import { type MigrationProgress, readMigrations } from "../../postgres/migrate.ts";
import { schemaState } from "../../postgres/schema-state.ts";
import { backfills } from "../backfills.ts";
import type { Command } from "../command.ts";
import { lineOf, withStore } from "./with-store.ts";

export const migrateCommand: Command = {
  name: "migrate",
  summary: "Bring the database schema up to date (posthorn start does this too), also while older programs run on it.",
  options: { json: { type: "boolean", help: "print the version, applied files and outstanding backfills as JSON" } },
  async run({ options, config, stop }) {
    const steps = await readMigrations();
    const applied: string[] = [];
    const print = (line: string) => void (options.json ? process.stderr : process.stdout).write(`${line}\n`);
    const onMigration = (progress: MigrationProgress) => {
      if (progress.kind === "applied") applied.push(progress.migration);
      print(lineOf(progress));
    };
    await withStore(
      config(),
      async ({ sql }) => {
        const { version, name, serves } = await schemaState(sql);
        const outstanding = await outstandingBackfills(sql, backfills);
        if (options.json) {
          const state = { version, name, program: steps.length, serves, applied, backfills: outstanding };
          return void process.stdout.write(`${JSON.stringify(state)}\n`);
        }
        print(`The schema is at version ${version} (${name}) and serves programs of version ${serves} and newer.`);
        if (version > steps.length)
          print(
            `A newer release migrated the database. This program has schema version ${steps.length} and still works on it.`,
          );
        for (const backfill of outstanding) print(backfillLine(backfill));
        if (outstanding.length === 0) print("No backfill is outstanding.");
      },
      { onMigration, stop },
    ).catch((error) => {
      if (!stop.aborted) throw error;
      process.stderr.write(
        "Interrupted. Finished steps are kept; the next posthorn migrate or start continues from there.\n",
      );
      process.exitCode = 1;
    });
  },
};

export function backfillLine({ name, rows, waitsFor }: BackfillState): string {
  const nodes = waitsFor.map(({ host, pid }) => `${host} (process ${pid})`).join(", ");
  const state = nodes
    ? `waiting until the nodes with an older program are upgraded: ${nodes}`
    : "nodes with the role housekeeping continue it";
  return `Backfill ${name} is outstanding: ${rows} rows done; ${state}.`;
}
