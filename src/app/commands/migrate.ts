/** posthorn migrate: brings the schema up to date without starting anything, for upgrades of several nodes. */
import { readMigrations } from "../../store/migrate.ts";
import type { Command } from "../command.ts";
import { withStore } from "./with-store.ts";

export const migrateCommand: Command = {
  name: "migrate",
  summary: "Bring the database's schema up to date (posthorn start does this too).",
  options: {},
  async run({ config }) {
    const steps = await readMigrations();
    await withStore(config(), async () => {
      process.stdout.write(`The schema is at version ${steps.length} (${steps.at(-1)?.name}).\n`);
    });
  },
};
