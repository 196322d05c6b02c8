/** The few statements that the embedded server's own upkeep needs, before the program's pool exists. Called by embedded.ts. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { EmbeddedError } from "./embedded-error.ts";
import { database, type Facts, type Home, replaceFile, user, writeFacts } from "./embedded-home.ts";
import { type StartServer, startServer } from "./embedded-server.ts";
import { innerPath } from "./embedded-spawn.ts";

/** Also the proof that the password in our facts opens this server. */
export async function ensureDatabase(home: Home, password: string): Promise<void> {
  try {
    await inSession(home, password, async (session) => {
      const found = await session.query("select 1 from pg_database where datname = $1", [database]);
      if (found.rowCount === 0) await session.query(`create database ${session.escapeIdentifier(database)}`);
    });
  } catch (cause) {
    const message = `PostgreSQL in ${home.cluster} runs but refuses Posthorn: ${String(cause)}`;
    throw new EmbeddedError("failed", message, { cause });
  }
}

/** Whoever may read the cluster's files may also open it: one run in which the socket, in a 0700 directory, asks for no password. */
export async function teachPassword(run: StartServer, facts: Facts): Promise<void> {
  const rules = join(run.home.home, "postgres.hba.conf");
  await replaceFile(rules, `local all ${user} trust\n`, 0o644);
  try {
    const server = await startServer({
      ...run,
      settings: [...(run.settings ?? []), `hba_file=${innerPath(run.home, rules)}`],
    });
    try {
      // alter role takes no parameters; the password is base64url.
      await inSession(run.home, "", (session) => session.query(`alter role ${user} password '${facts.password}'`));
    } finally {
      await server.stop();
    }
  } finally {
    await rm(rules, { force: true });
  }
  await writeFacts(run.home.dataDir, facts);
}

async function inSession(home: Home, password: string, work: (session: pg.Client) => Promise<unknown>): Promise<void> {
  const session = new pg.Client({
    host: home.socketDir,
    user,
    password,
    database: "postgres",
    connectionTimeoutMillis: 5000,
  });
  session.on("error", () => {});
  await session.connect();
  try {
    await work(session);
  } finally {
    await session.end();
  }
}
