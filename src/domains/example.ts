/**
 * Gives a new instance in capture mode a domain that can send at once: example.test, registered, published in our own
 * DNS and checked at the first start. Called by app/assemble.ts.
 */

import type { Log } from "../ops/log.ts";
import type { Sql } from "../postgres/pool.ts";
import { onlyOneNode } from "../workspaces/store/first.ts";
import type { Checker } from "./checker.ts";
import { publish } from "./publish.ts";
import type { Registrar } from "./register.ts";
import { addDomain, findDomain, listDomains, noteExampleOffered, wasExampleOffered } from "./store/domains.ts";

export const exampleName = "example.test";

/** A check takes at most 5 s. */
const maxTries = 5;

export type ExampleDeps = {
  sql: Sql;
  log: Log;
  registrar: Registrar;
  checker: Checker;
  zone: string;
  workspaceId: string;
  /** Capture mode: queries for reserved names go to our own DNS. In other modes the name could never be verified. */
  local: boolean;
};

/** Returns the example domain's name if it can send. Errors are logged and never fail the start. */
export async function ensureExampleDomain(deps: ExampleDeps): Promise<string | undefined> {
  try {
    await offer(deps);
    const row = await findDomain(deps.sql, deps.workspaceId, exampleName);
    if (!row || row.lastCheckedAt !== null) return row?.canSend ? row.domain : undefined;
    for (let tries = 1; ; tries++) {
      const checked = await deps.checker.refresh(deps.workspaceId, row.id);
      // This process also answers the DNS queries. On a machine that is busy at the first start, answers may be too late.
      if (checked?.status === "ready" || tries === maxTries) return checked?.canSend ? checked.domain : undefined;
    }
  } catch (error) {
    deps.log.warn({ err: error }, `${exampleName} could not be set up; add a domain of your own`);
    return undefined;
  }
}

/**
 * Adds the example domain once per instance; nodes that start together take turns. An instance that has a domain, or is
 * not in capture mode, at its first start never gets it.
 */
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
