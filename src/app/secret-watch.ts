/** Keeps the secrets of a running program in step with the database: after posthorn secret rotate, every node seals and signs with the new
 * secret, and after --revoke no node accepts tokens of the old one. Started by assemble.ts. */
import type { Log } from "../ops/log.ts";
import type { Sql } from "../postgres/pool.ts";
import { SecretError, type Secrets } from "../postgres/sealing.ts";
import { judgeSecrets, readSecretState } from "../postgres/secret-state.ts";
import type { Config } from "./config.ts";
import { findSecrets } from "./files.ts";

/** A revoked secret is accepted for at most this long and the time of one statement. */
const everyMs = 2000;

export function createSecretWatch(deps: { sql: Sql; log: Log; config: Config; secrets: Secrets }) {
  const { sql, log, config, secrets } = deps;
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> = Promise.resolve();
  let stopped = false;

  async function check(options?: { locked: boolean }): Promise<string | undefined> {
    // Without POSTHORN_SECRET, the secrets are in files, which posthorn secret rotate --new replaces.
    if (config.secret === undefined) {
      const found = await findSecrets(config);
      if (found) secrets.hold(found.secret, found.previous);
    }
    const verdict = judgeSecrets(secrets.held(), await readSecretState(sql, options));
    if ("use" in verdict) return void secrets.follow(verdict.use);
    secrets.refuse(verdict.problem);
    return verdict.problem;
  }

  async function checkAgain(): Promise<void> {
    const before = secrets.problem();
    try {
      const problem = await check();
      if (problem !== undefined && problem !== before) log.error(problem);
    } catch (error) {
      log.warn({ reason: (error as Error).message }, "cannot read the state of the secret; will retry");
    }
    if (!stopped) timer = setTimeout(() => (round = checkAgain()), everyMs);
  }

  return {
    /** Call it after the worker is registered: a replacement that began before has ended then, and a later one sees the worker. */
    async start() {
      const problem = await check({ locked: true });
      if (problem !== undefined) throw new SecretError(problem);
      timer = setTimeout(() => (round = checkAgain()), everyMs);
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await round;
    },
  };
}
