/** posthorn wordings: lists replies of receivers whose wording no rule knows. On a running or a stopped instance. */
import { listWordings } from "../../delivery/store/wordings.ts";
import { type Command, UsageError } from "../command.ts";
import { fittedTable, jsonLine, write } from "../output.ts";
import { timeText } from "./listing.ts";
import { withStore } from "./with-store.ts";

const shownByDefault = 50;

export const wordings: Command = {
  name: "wordings",
  summary: "List replies of receivers whose wording is unknown, the most frequent first, without addresses.",
  options: {
    limit: { type: "string", help: `how many wordings, 1 to 1000; default: ${shownByDefault}` },
    site: { type: "string", help: "only wordings of this receiving site" },
    json: { type: "boolean", help: "one JSON object per line" },
  },
  async run({ options, config }) {
    const limit = Number(options.limit ?? shownByDefault);
    if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
      throw new UsageError("--limit must be a number from 1 to 1000.");
    const site = options.site === undefined ? undefined : String(options.site).toLowerCase();
    const rows = await withStore(config(), async ({ sql }) => await listWordings(sql, { limit, site }));
    const shown = rows.map(({ id: _, enhanced, firstAt, lastAt, ...row }) => ({
      ...row,
      enhancedCode: enhanced,
      category: row.category.replaceAll("-", "_"),
      firstAt: firstAt.toISOString(),
      lastAt: lastAt.toISOString(),
    }));
    if (options.json) for (const row of shown) await write(jsonLine(row));
    else if (shown.length === 0) await write("Every reply of the last 30 days had a known wording.\n");
    else {
      const lines = shown.map((row) => [
        String(row.replies),
        row.site,
        row.phase,
        `${row.code} ${row.enhancedCode}`.trim(),
        row.category.replaceAll("_", " "),
        timeText(row.lastAt),
        row.shape,
      ]);
      const head = ["REPLIES", "SITE", "PHASE", "CODE", "CATEGORY", "LAST SEEN", "WORDING"];
      await write(fittedTable([head, ...lines], [head.length - 1]));
    }
  },
};
