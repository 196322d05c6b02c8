/** The check of posthorn doctor on the secret: whether it is being replaced, and what is left to do. */
import type { Config } from "../../config.ts";
import { readStanding, type Stage } from "../../secret-standing.ts";
import { withStore } from "../with-store.ts";
import type { Finding } from "./finding.ts";

/** Stages in which the operator has something to do now. */
const isDue = new Set<Stage>(["prepared", "unfinished", "late", "removable"]);

export async function secretChecks(config: Config): Promise<Finding[]> {
  const { stage, found, next } = await withStore(config, async ({ sql, secrets, nowMs }) =>
    readStanding({ sql, secrets, config, nowMs }),
  );
  const source = config.secret === undefined ? "in the data directory" : "in POSTHORN_SECRET";
  const result = isDue.has(stage) ? "warn" : "ok";
  return [{ check: "secret", result, found: `${source}; ${found}`, ...(result === "warn" && { fix: next }) }];
}
