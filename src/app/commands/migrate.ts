/** posthorn migrate: brings the schema up to date without starting anything, for upgrades of several nodes. */
import { readMigrations } from "../../store/migrate.ts";
import type { Command } from "../command.ts";
import { withStore } from "./with-store.ts";

export const migrateCommand: Command = {
  name: "migrate",
  summary: "Bring the database's schema up to date (posthorn start does this too).",
  options: { json: { type: "boolean", help: "print the version as JSON" } },
  async run({ options, config }) {
    const steps = await readMigrations();
    await withStore(config(), async () => {
      const done = { version: steps.length, name: steps.at(-1)?.name };
      if (options.json) return void process.stdout.write(`${JSON.stringify(done)}\n`);
      process.stdout.write(`The schema is at version ${done.version} (${done.name}).\n`);
    });
  },
};
