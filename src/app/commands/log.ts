/** posthorn log cut: reports to readers of the event logs that this database lost the end of its logs. */
import { commandLine, record } from "../../audit/record.ts";
import { cutLogs } from "../../postgres/log-origin.ts";
import type { Command } from "../command.ts";
import { withStore } from "./with-store.ts";

const logCut: Command = {
  name: "log cut",
  summary: "After restoring the database by other means: report to readers that the end of the event log is lost.",
  options: { json: { type: "boolean", help: "print the number of event logs as JSON" } },
  async run({ options, config }) {
    const workspaces = await withStore(config(), async ({ sql }) => {
      return await cutLogs(sql, (tx) => record(tx, commandLine, { action: "log.cut" }));
    });
    // One of them is the log of system mail.
    const logs = workspaces === 1 ? "1 event log was" : `${workspaces} event logs were`;
    process.stdout.write(
      options.json
        ? `${JSON.stringify({ workspaces })}\n`
        : `${logs} cut at the newest event. Readers that were further ahead get out_of_range with the cursor to resume from.\n`,
    );
  },
};

export const log = [logCut];
