/** Statements that embedded.ts runs on the new server before the program's pool exists: create the database, reset the password. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { innerPath } from "./account.ts";
import { EmbeddedError } from "./error.ts";
import { type ClusterLocation, database, type Facts, replaceFile, user, writeFacts } from "./location.ts";
import { type StartServer, startServer } from "./server.ts";

/** Creates the database if it is missing. This also checks that the password in postgres.json works. */
export async function ensureDatabase(location: ClusterLocation, password: string): Promise<void> {
  try {
    await withSession(location, password, async (session) => {
      const found = await session.query("select 1 from pg_database where datname = $1", [database]);
      if (found.rowCount === 0) await session.query(`create database ${session.escapeIdentifier(database)}`);
    });
  } catch (cause) {
    const message = `PostgreSQL runs on ${location.cluster} but rejects Posthorn's connection: ${String(cause)}`;
    throw new EmbeddedError("failed", message, { cause });
  }
}

/**
 * Sets a new password after postgres.json was lost. For one run the server accepts connections without a password, but only on its
 * socket in a 0700 directory. The account that can open that socket can read the cluster's files anyway.
 */
export async function resetServerPassword(run: StartServer, facts: Facts): Promise<void> {
  const rules = join(run.location.baseDir, "postgres.hba.conf");
  await replaceFile(rules, `local all ${user} trust\n`, 0o644);
  try {
    const server = await startServer({
      ...run,
      settings: [...(run.settings ?? []), `hba_file=${innerPath(run.location, rules)}`],
    });
    try {
      // `alter role` takes no parameters. The password is base64url, so it needs no escaping.
      await withSession(run.location, "", (session) =>
        session.query(`alter role ${user} password '${facts.password}'`),
      );
    } finally {
      await server.stop();
    }
  } finally {
    await rm(rules, { force: true });
  }
  await writeFacts(run.location.dataDir, facts);
}

async function withSession(
  location: ClusterLocation,
  password: string,
  work: (session: pg.Client) => Promise<unknown>,
): Promise<void> {
  const session = new pg.Client({
    host: location.socketDir,
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
