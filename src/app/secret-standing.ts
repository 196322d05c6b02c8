/** Where the replacement of the secret stands, and what the operator does next. Used by posthorn secret and posthorn doctor. */
import type { Sql } from "../postgres/pool.ts";
import type { Secrets } from "../postgres/sealing.ts";
import { type Replacement, readSecretState } from "../postgres/secret-state.ts";
import type { Config } from "./config.ts";
import { previousSecretFile } from "./files.ts";
import { countSealedWithOthers } from "./sealed-columns.ts";

export type Stage = "never" | "prepared" | "unfinished" | "late" | "valid" | "removable" | "done";

export type SecretStanding = {
  stage: Stage;
  found: string;
  /** Present if there is something to do now or later. */
  next?: string;
  /** The ids of the secrets that this machine has, the active one first. */
  secrets: string[];
  replacement: Replacement | undefined;
  /** How many stored secrets are sealed with another secret than the active one; undefined before the first replacement. */
  sealedWithOthers: number | undefined;
};

export async function readStanding(deps: {
  sql: Sql;
  secrets: Secrets;
  config: Config;
  nowMs(): number;
}): Promise<SecretStanding> {
  const { sql, secrets, config } = deps;
  const { replacement } = await readSecretState(sql);
  const sealedWithOthers = replacement && (await countSealedWithOthers(sql, secrets));
  const stage = stageOf({ secrets, replacement, sealedWithOthers, nowMs: deps.nowMs() });
  const texts = textsOf(replacement, previousOf(config));
  return { stage, ...texts[stage], secrets: secrets.ids(), replacement, sealedWithOthers };
}

function stageOf(facts: {
  secrets: Secrets;
  replacement: Replacement | undefined;
  sealedWithOthers: number | undefined;
  nowMs: number;
}): Stage {
  const { secrets, replacement } = facts;
  if (secrets.held()[0]!.id !== secrets.ids()[0]) return "prepared";
  if (!replacement) return "never";
  if (replacement.sealedAt === undefined) return "unfinished";
  if ((facts.sealedWithOthers ?? 0) > (replacement.unreadable ?? 0)) return "late";
  if (replacement.revokedAt === undefined && Date.parse(replacement.validUntil!) > facts.nowMs) return "valid";
  return secrets.held().length > 1 ? "removable" : "done";
}

function textsOf(
  replacement: Replacement | undefined,
  previous: ReturnType<typeof previousOf>,
): Record<Stage, { found: string; next?: string }> {
  const day = (time = "") => time.slice(0, 10);
  const begun = day(replacement?.begunAt);
  const until = day(replacement?.validUntil);
  const rotate = "Run: posthorn secret rotate";
  return {
    never: { found: "it was never replaced" },
    prepared: {
      found: "a new one is prepared, but not in use yet",
      next: "When every node has both secrets, run: posthorn secret rotate",
    },
    unfinished: { found: `its replacement of ${begun} has not finished`, next: rotate },
    late: { found: "stored secrets are sealed with the previous one", next: rotate },
    valid: {
      found: `replaced on ${begun}; tokens of the previous one are valid until ${until}`,
      next: `${previous.keep} until ${until}, then ${previous.removeIt}.`,
    },
    removable: {
      found: `replaced on ${begun}; the previous one is no longer needed`,
      next: `${previous.remove}.`,
    },
    done: { found: `replaced on ${begun}` },
  };
}

function previousOf({ secret, dataDir }: Config): { keep: string; remove: string; removeIt: string } {
  const file = previousSecretFile(dataDir);
  if (secret === undefined)
    return { keep: `Keep the file ${file}`, remove: `Delete the file ${file}`, removeIt: "delete it" };
  return {
    keep: "Keep POSTHORN_SECRET_PREVIOUS on every node",
    remove: "Remove POSTHORN_SECRET_PREVIOUS from every node, one after another",
    removeIt: "remove it, from one node after another",
  };
}
