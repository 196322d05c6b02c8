/** Replaces the secret of the database while programs run: makes the new secret the active one, seals everything anew, and notes until when
 * tokens of the old one live. Every step can be repeated, so a killed run continues with the next one. Called by posthorn secret rotate. */

import { setTimeout as delay } from "node:timers/promises";
import { commandLine, record } from "../audit/record.ts";
import { Problem } from "../ops/problem.ts";
import { endAllSessions, sessionMs } from "../people/store/sessions.ts";
import type { Sql } from "../postgres/pool.ts";
import { type Resealed, resealColumn } from "../postgres/reseal.ts";
import type { Secrets } from "../postgres/sealing.ts";
import {
  beginReplacement,
  finishReplacement,
  judgeSecrets,
  lockSecretState,
  noteReplacement,
  type Replacement,
  readSecretState,
} from "../postgres/secret-state.ts";
import { type LiveWorker, listLiveWorkers } from "../postgres/workers.ts";
import type { Config } from "./config.ts";
import { findSecrets, previousSecretFile, replaceSecretFile, runningPorts, secretFile } from "./files.ts";
import { countSealedWithOthers, sealedColumns } from "./sealed-columns.ts";

export type ReplaceDeps = {
  sql: Sql;
  secrets: Secrets;
  config: Config;
  /** Ends the tokens of the old secret at once. */
  revoke: boolean;
  /** Generates the new secret, if it is in the data directory. */
  generate: boolean;
  nowMs(): number;
  onProgress(line: string): void;
};

/** Nodes read the files and the state every two seconds, and report their secrets with the next heartbeat. */
const waitMs = 30_000;
const pollMs = 500;

/** `unreadable` names rows whose text neither secret opens. They were of no use before, too. */
export async function replaceSecret(deps: ReplaceDeps): Promise<{ replacement: Replacement; unreadable: string[] }> {
  await begin(deps);
  if (deps.revoke) await revoke(deps);
  const { sql, secrets } = deps;
  const to = secrets.held()[0]!.id;
  // A node that has not followed yet may still seal with the old secret, so the last pass comes after all nodes have.
  await reseal(deps);
  await untilNodes(deps, {
    waitMs,
    isMet: ({ secretKeys }) => secretKeys?.[0] === to,
    otherwise: "still use the previous secret. Wait for them or stop them, and run posthorn secret rotate again",
  });
  let last = await reseal(deps);
  while (last.resealed > 0) last = await reseal(deps);
  const { unreadable } = last;
  const tokensForMs = longestTokenMs(deps.config);
  await finishReplacement(sql, to, { tokensForMs, unreadable: unreadable.length });
  return { replacement: (await readSecretState(sql)).replacement!, unreadable };
}

/** Makes POSTHORN_SECRET the active secret, unless it is already. */
async function begin(deps: ReplaceDeps): Promise<void> {
  const { sql, secrets, config } = deps;
  const { replacement } = await readSecretState(sql);
  const isActive = () => secrets.held()[0]!.id === secrets.ids()[0];
  if (isActive()) {
    if (!deps.generate && replacement) return;
    if (!deps.generate) throw notPrepared(config);
    // A replacement that was killed is finished before another one begins.
    if (replacement && !replacement.sealedAt) return;
    if (config.secret !== undefined) throw inSettings();
    await generateSecret(deps);
  }
  await requireSettled(replacement, deps);
  const to = secrets.held()[0]!;
  const has = ({ secretKeys }: LiveWorker) => secretKeys?.includes(to.id) ?? false;
  // Settings do not change by waiting.
  await untilNodes(deps, {
    waitMs: config.secret === undefined ? waitMs : 0,
    isMet: has,
    otherwise: withoutNew(config),
  });
  await sql.begin(async (tx) => {
    const state = await lockSecretState(tx);
    const verdict = judgeSecrets(secrets.held(), state);
    if ("problem" in verdict) throw new Problem("failed_precondition", verdict.problem);
    // Another run of this command was faster.
    if (verdict.use.active === to.id) return;
    const missing = (await liveNodes({ ...deps, sql: tx })).filter((worker) => !has(worker));
    if (missing.length > 0) throw notOnNodes(missing, withoutNew(config));
    const change = { from: verdict.use.active, to, revoke: deps.revoke, earlier: state.replacement };
    await beginReplacement(tx, change);
    await record(tx, commandLine, { action: "secret.replaced" });
    if (!deps.revoke) return;
    await record(tx, commandLine, { action: "secret.revoked" });
    await endAllSessions(tx);
  });
  await follow(deps);
}

/** Another run of this command may have generated one: a third secret would remove the active one from the files. */
async function generateSecret(deps: ReplaceDeps): Promise<void> {
  const { sql, secrets, config } = deps;
  await sql.begin(async (tx) => {
    const { replacement } = await lockSecretState(tx);
    const found = await findSecrets(config);
    if (found) secrets.hold(found.secret, found.previous);
    if (secrets.held()[0]!.id !== secrets.ids()[0]) return;
    await requireNewPrograms(deps);
    await requireSettled(replacement, deps);
    const pair = await replaceSecretFile(config.dataDir);
    secrets.hold(pair.secret, pair.previous);
  });
}

async function revoke(deps: ReplaceDeps): Promise<void> {
  const { sql, secrets } = deps;
  const { replacement } = await readSecretState(sql);
  if (replacement?.revokedAt !== undefined) return;
  await sql.begin(async (tx) => {
    await noteReplacement(tx, secrets.held()[0]!.id, "revokedAt");
    await record(tx, commandLine, { action: "secret.revoked" });
    await endAllSessions(tx);
  });
}

async function follow({ sql, secrets }: ReplaceDeps): Promise<void> {
  const verdict = judgeSecrets(secrets.held(), await readSecretState(sql));
  if ("problem" in verdict) throw new Problem("failed_precondition", verdict.problem);
  secrets.follow(verdict.use);
}

/** One pass over every column. */
async function reseal({ sql, secrets, onProgress }: ReplaceDeps): Promise<Resealed> {
  const total: Resealed = { resealed: 0, unreadable: [] };
  for (const column of sealedColumns) {
    const onBatch = (count: number) => count > 0 && onProgress(`${count} ${column.what} sealed with the new secret`);
    const done = await resealColumn(sql, { column, secrets, onBatch });
    total.resealed += done.resealed;
    total.unreadable.push(...done.unreadable);
  }
  return total;
}

/** Waits until every live node meets the condition. */
async function untilNodes(
  deps: ReplaceDeps,
  { waitMs, isMet, otherwise }: { waitMs: number; isMet(worker: LiveWorker): boolean; otherwise: string },
): Promise<void> {
  const until = performance.now() + waitMs;
  for (let reported = false; ; reported = true) {
    const missing = (await liveNodes(deps)).filter((worker) => !isMet(worker));
    if (missing.length === 0) return;
    if (performance.now() >= until) throw notOnNodes(missing, otherwise);
    if (!reported) deps.onProgress(`waiting for ${namesOf(missing)}`);
    await delay(pollMs);
  }
}

/** The service time stops when the only program is killed, so its worker stays alive. On a data directory, its process can be looked for. A
 * program that is still starting reads the files and the state after it has registered its worker. */
async function liveNodes({ sql, config }: ReplaceDeps): Promise<LiveWorker[]> {
  const isStopped = config.databaseUrl === undefined && (await runningPorts(config.dataDir)) === undefined;
  return isStopped ? [] : await listLiveWorkers(sql);
}

/** A program of an earlier release would read the new file at its next start, and refuse to start with it. */
async function requireNewPrograms(deps: ReplaceDeps): Promise<void> {
  const older = (await liveNodes(deps)).filter(({ secretKeys }) => secretKeys === null);
  if (older.length > 0) throw notOnNodes(older, "run an earlier release. Upgrade them first");
}

/** Programs hold two secrets. A third one would make what is sealed with the first unreadable, and end its tokens. */
async function requireSettled(
  replacement: Replacement | undefined,
  { sql, secrets, revoke, nowMs }: ReplaceDeps,
): Promise<void> {
  if (!replacement) return;
  const late = (await countSealedWithOthers(sql, secrets)) - (replacement.unreadable ?? 0);
  if (late > 0)
    throw new Problem(
      "failed_precondition",
      `${late} stored secrets are sealed with the secret before the current one. Finish that replacement first: run posthorn secret rotate with the current secret and the one before it.`,
    );
  const until = replacement.revokedAt === undefined ? replacement.validUntil : undefined;
  if (revoke || until === undefined || Date.parse(until) <= nowMs()) return;
  throw new Problem(
    "failed_precondition",
    `The secret was replaced before, and tokens of the one before that replacement are in use until ${until.slice(0, 10)}. Wait until then, or invalidate them now with --revoke.`,
  );
}

/** A token lives as long as the email or the session that it belongs to. The rows of emails are deleted by the week, and not before their
 * last attempt. */
export function longestTokenMs({ historyDays, retry }: Pick<Config, "historyDays" | "retry">): number {
  const dayMs = 86_400_000;
  return Math.max(sessionMs, (historyDays + 7) * dayMs + retry.forMs) + dayMs;
}

function notPrepared(config: Config): Problem {
  const what = `Prepare the replacement first: ${howToPrepare(config)}`;
  return new Problem("failed_precondition", `The secret is the one that this database uses. ${what}`);
}

function howToPrepare(config: Config): string {
  if (config.secret === undefined) return "run posthorn secret rotate --new, which generates a new secret.";
  return "set POSTHORN_SECRET to the new secret and POSTHORN_SECRET_PREVIOUS to the current one on every node, and restart the nodes one after another.";
}

function inSettings(): Problem {
  return new Problem(
    "failed_precondition",
    "--new replaces the secret in the data directory, but POSTHORN_SECRET is set. Generate a new one with openssl rand -hex 32, set it as POSTHORN_SECRET, and the current one as POSTHORN_SECRET_PREVIOUS, on every node.",
  );
}

function withoutNew({ secret, dataDir }: Config): string {
  if (secret !== undefined)
    return "do not have the new secret. Set POSTHORN_SECRET and POSTHORN_SECRET_PREVIOUS as for this command, and restart them";
  const files = `${secretFile(dataDir)} and ${previousSecretFile(dataDir)}`;
  return `do not have the new secret. Copy ${files} to their data directories, or stop them, and run posthorn secret rotate again`;
}

function notOnNodes(nodes: readonly LiveWorker[], what: string): Problem {
  return new Problem("failed_precondition", `These nodes ${what}: ${namesOf(nodes)}`);
}

function namesOf(nodes: readonly LiveWorker[]): string {
  return [...new Set(nodes.map(({ host, pid, version }) => `${host}, process ${pid} (Posthorn ${version})`))].join(
    "; ",
  );
}
