/** posthorn migrate: brings the schema up to date without starting anything, and says what it does file by file. */
import { type BackfillState, outstandingBackfills } from "../../store/backfill.ts";
import { type Progress, readMigrations } from "../../store/migrate.ts";
import { schemaState } from "../../store/schema-state.ts";
import type { Command } from "../command.ts";
import { withStore } from "./with-store.ts";

export const migrateCommand: Command = {
  name: "migrate",
  summary:
    "Bring the database's schema up to date (posthorn start does this too), also while older programs run on it.",
  options: { json: { type: "boolean", help: "print the version, the applied files and open backfills as JSON" } },
  async run({ options, config }) {
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
      { onMigration },
    );
  },
};

export function lineOf(progress: Progress): string {
  const { migration } = progress;
  switch (progress.kind) {
    case "applied":
      return `${migration}: applied in ${progress.tookMs} ms`;
    case "index":
      return `${migration}: building ${progress.index} on ${progress.table} (${progress.step} of ${progress.of})`;
    case "building":
      return `${migration}: ${progress.index}: ${progress.phase}${progress.percent === undefined ? "" : `, ${progress.percent} %`}`;
    case "queued":
      return `${migration}: another node builds this index; waiting for it`;
    case "waiting": {
      const { blocker, tables } = progress;
      const by = blocker
        ? `: session ${blocker.pid} (${blocker.application || "no name"}, ${blocker.state}) has been in a transaction for ${Math.round(blocker.openForMs / 1000)} s: ${blocker.query}`
        : "";
      return `${migration}: waiting for a lock on ${tables.join(", ")}${by}`;
    }
  }
}

export function backfillLine({ name, rows, waitsFor }: BackfillState): string {
  const nodes = waitsFor.map(({ host, pid }) => `${host} (process ${pid})`).join(", ");
  const state = nodes
    ? `waits until the nodes with an older program are upgraded: ${nodes}`
    : "nodes with the role housekeeping go on with it";
  return `Backfill ${name} is outstanding: ${rows} rows done; ${state}.`;
}
