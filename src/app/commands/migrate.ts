/** posthorn migrate: brings the schema up to date without starting anything, and says what it does file by file. */
import { type BackfillState, outstandingBackfills } from "../../store/backfill.ts";
import { type Progress, readMigrations } from "../../store/migrate.ts";
import { schemaState } from "../../store/schema-state.ts";
import type { Command } from "../command.ts";
import { lineOf } from "./migration-line.ts";
import { withStore } from "./with-store.ts";

export const migrateCommand: Command = {
  name: "migrate",
  summary:
    "Bring the database's schema up to date (posthorn start does this too), also while older programs run on it.",
  options: { json: { type: "boolean", help: "print the version, the applied files and open backfills as JSON" } },
  async run({ options, config, stop }) {
    const steps = await readMigrations();
    const applied: string[] = [];
    const print = (line: string) => void (options.json ? process.stderr : process.stdout).write(`${line}\n`);
    const onMigration = (progress: Progress) => {
      if (progress.kind === "applied") applied.push(progress.migration);
      print(lineOf(progress));
    };
    await withStore(
      config(),
      async ({ sql }) => {
        const { version, name, serves } = await schemaState(sql);
        const backfills = await outstandingBackfills(sql);
        if (options.json) {
          const state = { version, name, program: steps.length, serves, applied, backfills };
          return void process.stdout.write(`${JSON.stringify(state)}\n`);
        }
        print(`The schema is at version ${version} (${name}) and serves programs of version ${serves} and newer.`);
        if (version > steps.length)
          print(
            `This program has version ${steps.length}: a newer release migrated the database. It still runs on it.`,
          );
        for (const backfill of backfills) print(backfillLine(backfill));
        if (backfills.length === 0) print("No backfill is outstanding.");
      },
      { onMigration, stop },
    ).catch((error) => {
      if (!stop.aborted) throw error;
      process.stderr.write(
        "Interrupted. What was finished stays; the next posthorn migrate or start goes on from there.\n",
      );
      process.exitCode = 1;
    });
  },
};

export function backfillLine({ name, rows, waitsFor }: BackfillState): string {
  const nodes = waitsFor.map(({ host, pid }) => `${host} (process ${pid})`).join(", ");
  const state = nodes
    ? `waits until the nodes with an older program are upgraded: ${nodes}`
    : "nodes with the role housekeeping go on with it";
  return `Backfill ${name} is outstanding: ${rows} rows done; ${state}.`;
}
