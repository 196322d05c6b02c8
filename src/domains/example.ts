/** The first thing a new instance can send from: example.test, registered, published to our own DNS and verified at the first start. */

import type { Log } from "../ops/log.ts";
import type { Sql } from "../store/db.ts";
import { addDomain, findDomain, listDomains } from "../store/domains.ts";
import { noteExampleOffered, wasExampleOffered } from "../store/domains-example.ts";
import { onlyOneNode } from "../store/workspaces.ts";
import type { Checker } from "./checker.ts";
import { publish } from "./publish.ts";
import type { Registrar } from "./register.ts";

export const exampleName = "example.test";

/** Each takes at most 5 s. */
const mostTries = 5;

export type ExampleDeps = {
  sql: Sql;
  log: Log;
  registrar: Registrar;
  checker: Checker;
  zone: string;
  workspaceId: string;
  /** Capture mode, where reserved names are asked of our own DNS. Elsewhere the name could never be verified. */
  local: boolean;
};

/** The example domain's name when there is one that can send. Never fails the start: what goes wrong is said in the log. */
export async function ensureExampleDomain(deps: ExampleDeps): Promise<string | undefined> {
  try {
    await offer(deps);
    const row = await findDomain(deps.sql, deps.workspaceId, exampleName);
    if (!row || row.lastCheckedAt !== null) return row?.canSend ? row.domain : undefined;
    for (let tries = 1; ; tries++) {
      const checked = await deps.checker.refresh(deps.workspaceId, row.id);
      // This program answers the questions itself: on a machine that is busy at the first start its answers may come too late.
      if (checked?.status === "ready" || tries === mostTries) return checked?.canSend ? checked.domain : undefined;
    }
  } catch (error) {
    deps.log.warn({ err: error }, `${exampleName} could not be made ready; add a domain of your own`);
    return undefined;
  }
}

/** Nodes that start together take turns; one that was not fresh, or not local, at its first start never gets the example. */
async function offer(deps: ExampleDeps): Promise<void> {
  const { sql, workspaceId } = deps;
  if (await wasExampleOffered(sql)) return;
  const { total } = await listDomains(sql, { workspaceId, limit: 1, offset: 0 });
  if (!deps.local || total > 0) {
    await noteExampleOffered(sql, "none");
    return;
  }
  const domain = await deps.registrar.prepare({ workspaceId, domain: exampleName, mailFromLabel: "" });
  await onlyOneNode(sql, async (tx) => {
    if (!(await noteExampleOffered(tx, exampleName))) return;
    const row = await addDomain(tx, domain);
    if (row) await publish(tx, row, { zone: deps.zone, takeOver: true });
  });
}
