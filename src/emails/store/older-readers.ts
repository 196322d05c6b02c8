/** Whether a live program of an earlier release runs on the database, which could not read a newer form of content. Used before such content
 * is stored, by parts.ts and inbound/store/inbound.ts, and before stored content is moved. */
import { Problem } from "../../ops/problem.ts";
import type { Sql } from "../../postgres/pool.ts";
import { deadAfterSeconds, isAlive } from "../../postgres/workers.ts";

/** Programs start rarely, and a program that starts meanwhile only tries to read such content again later. */
const askAgainAfterMs = 5_000;

/** The version of the schema, and so of the program, that reads content in object storage. */
export const objectsSince = 52;

export function createOlderReaders(sql: Sql, since: number): () => Promise<boolean> {
  let asked: { atMs: number; answer: Promise<boolean> } | undefined;
  return () => {
    const nowMs = performance.now();
    if (asked && nowMs - asked.atMs < askAgainAfterMs) return asked.answer;
    const asking = { atMs: nowMs, answer: findOlderReader(sql, since).then((found) => found !== undefined) };
    asked = asking;
    asking.answer.catch(() => {
      if (asked === asking) asked = undefined;
    });
    return asking.answer;
  };
}

/** For stored content, which would become unreadable for such a program. */
export async function requireObjectReaders(sql: Sql): Promise<void> {
  const older = await findOlderReader(sql, objectsSince);
  if (!older) return;
  const { version, host, pid } = older;
  throw new Problem(
    "failed_precondition",
    `A program of release ${version} runs on ${host} (process ${pid}) and cannot read content in object storage. Upgrade or stop it. ` +
      `If it was killed, wait ${deadAfterSeconds} seconds. Then run the command again.`,
  );
}

type OlderReader = { host: string; pid: number; version: string };

async function findOlderReader(sql: Sql, since: number): Promise<OlderReader | undefined> {
  const [row] = await sql<OlderReader[]>`
    select host, pid, version from workers where coalesce(schema_version, 1) < ${since} and ${isAlive(sql)} limit 1`;
  return row;
}
