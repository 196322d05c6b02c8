/** The checks of posthorn doctor that read the store: sign-up, the secret, receivers that have stopped answering, and
 * wordings that no rule knows. */

import { listStalledSites, type StalledSite } from "../../../delivery/store/sites.ts";
import { countFrequentWordings } from "../../../delivery/store/wordings.ts";
import { findSenderProblem } from "../../../emails/system-mail.ts";
import { firstWorkspace } from "../../../workspaces/store/first.ts";
import type { Config } from "../../config.ts";
import { readStanding, type Stage } from "../../secret-standing.ts";
import { withStore } from "../with-store.ts";
import type { Finding } from "./finding.ts";

/** Open sign-up needs mail, with which people confirm their addresses. */
export async function signUpChecks(config: Config): Promise<Finding[]> {
  if (config.signup !== "open") return [];
  // Capture mode sends from its example domain by default.
  if (config.delivery === "capture" && config.systemFrom === undefined) return [];
  const problem = await withStore(config, async ({ sql }) =>
    findSenderProblem(sql, { workspaceId: await firstWorkspace(sql), from: config.systemFrom }),
  );
  if (problem === undefined)
    return [{ check: "sign-up", result: "ok", found: "open; people confirm their address by mail" }];
  return [
    {
      check: "sign-up",
      result: "warn",
      found: "POSTHORN_SIGNUP is open, but no mail can be sent to confirm addresses, so sign-up stays closed",
      fix: problem,
    },
  ];
}

/** Stages of a replacement of the secret in which the operator has something to do now. */
const isDue = new Set<Stage>(["prepared", "unfinished", "late", "removable"]);

export async function secretChecks(config: Config): Promise<Finding[]> {
  const { stage, found, next } = await withStore(config, async ({ sql, secrets, nowMs }) =>
    readStanding({ sql, secrets, config, nowMs }),
  );
  const source = config.secret === undefined ? "in the data directory" : "in POSTHORN_SECRET";
  const result = isDue.has(stage) ? "warn" : "ok";
  return [{ check: "secret", result, found: `${source}; ${found}`, ...(result === "warn" && { fix: next }) }];
}

const shownSites = 10;

/** Receivers that keep connections open without an answer. */
export async function receiverChecks(config: Config): Promise<Finding[]> {
  const stalled = await withStore(config, ({ sql }) => listStalledSites(sql, shownSites));
  if (stalled.length === 0) return [{ check: "receivers", result: "ok", found: "no receiver has stopped answering" }];
  return stalled.map((site) => ({
    check: "receivers",
    result: "warn",
    found: describe(site),
    fix: "Its mail waits while one email at a time probes it; other receivers are not affected. If it is your relay or firewall, check that.",
  }));
}

/** Replies from which a wording is worth the operator's time. */
const frequentReplies = 100;

/** Receivers that refuse much mail with words that no rule knows, so that its outcome is a guess by the code. */
export async function wordingChecks(config: Config): Promise<Finding[]> {
  const { shapes, replies } = await withStore(config, ({ sql }) => countFrequentWordings(sql, frequentReplies));
  if (shapes === 0)
    return [{ check: "wordings", result: "ok", found: "receivers refuse mail with wordings that are known" }];
  return [
    {
      check: "wordings",
      result: "warn",
      found: `${replies} refusals, the last within 7 days, have ${shapes === 1 ? "a wording" : `${shapes} wordings`} that no rule knows; their codes alone decided`,
      fix: "See: posthorn wordings. Please report them, so that a later version judges them by their words.",
    },
  ];
}

function describe({ site, since, recipients }: StalledSite): string {
  const held = recipients === 1 ? "1 recipient is" : `${recipients} recipients are`;
  return `${site} has not answered since ${since.toISOString()}; ${held} in delivery`;
}
