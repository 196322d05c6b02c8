/** PgBouncer in front of the database: refused with an explanation in modes that share sessions, supported in session mode. */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type Pgbouncer, startPgbouncer, withoutPgbouncer } from "../harness/pgbouncer.ts";
import { newDataDir, runCommand, startProgram } from "../harness/program.ts";
import { sendFrom } from "../harness/streams.ts";
import { until } from "../harness/wait.ts";

const skip = withoutPgbouncer;

describe("PgBouncer", () => {
  let database: TestDatabase;
  let dataDir = "";
  before(async () => {
    if (skip) return;
    database = await createTestDatabase({ example: true });
    dataDir = await newDataDir();
  });
  after(async () => {
    await database?.drop();
    if (dataDir) await rm(dataDir, { recursive: true, force: true });
  });

  for (const [mode, size, roundRobin] of [
    ["transaction", 20, false],
    ["transaction", 1, false],
    ["transaction", 20, true],
    ["statement", 20, false],
  ] as const) {
    test(`pool_mode ${mode}, ${size} sessions${roundRobin ? " in turn" : ""}: refused on start, with the fix`, {
      skip,
    }, async () => {
      const bouncer = await startPgbouncer(database.url, { mode, size, roundRobin });
      try {
        await useSessions(bouncer, Math.min(size, 3));
        const { code, stdout, stderr } = await runCommand(["start"], { databaseUrl: bouncer.url, dataDir });
        assert.equal(code, 1);
        assert.match(stderr, /pool_mode = transaction or statement/);
        assert.match(
          stderr,
          /Set DATABASE_URL to the address of PostgreSQL itself, or set pool_mode = session for this database/,
        );
        assert.doesNotMatch(stderr, /\n {4}at /, "a message without a stack trace");
        assert.doesNotMatch(stdout, /Posthorn is running/);
        await nothingLeft(bouncer);
      } finally {
        await bouncer.stop();
      }
    });
  }

  /** Timeouts set in a shared session would abort the statements of other clients. */
  async function nothingLeft(bouncer: Pgbouncer): Promise<void> {
    for (const set of await useSessions(bouncer, 1)) assert.equal(set, "0");
  }

  /** Opens sessions through the pooler like other clients, and returns the statement timeout of each. */
  async function useSessions(bouncer: Pgbouncer, count: number): Promise<string[]> {
    const clients = Array.from({ length: count }, () => new pg.Client({ connectionString: bouncer.url }));
    try {
      await Promise.all(clients.map((client) => client.connect()));
      const ask = "select current_setting('statement_timeout') as set, pg_sleep(0.2)";
      return await Promise.all(clients.map(async (client) => (await client.query(ask)).rows[0].set));
    } finally {
      await Promise.all(clients.map((client) => client.end()));
    }
  }

  test("commands are refused as well", { skip }, async () => {
    const bouncer = await startPgbouncer(database.url, { mode: "transaction", size: 20 });
    try {
      const { code, stderr } = await runCommand(["migrate"], { databaseUrl: bouncer.url, dataDir });
      assert.equal(code, 1);
      assert.match(stderr, /pool_mode = transaction or statement/);
      await nothingLeft(bouncer);
    } finally {
      await bouncer.stop();
    }
  });

  test("pool_mode session works, including wake-ups", { skip }, async () => {
    const bouncer = await startPgbouncer(database.url, { mode: "session", size: 20 });
    const program = await startProgram({ databaseUrl: bouncer.url });
    try {
      await sendFrom(program, "delivered");
      await until("its event", async () => {
        const { body } = await program.call("EmailService/ListEvents", {});
        return (body.data as { event: { type: string } }[]).some(({ event }) => event.type === "email.delivered");
      });
      const [settings] = await database.sql<{ n: number }[]>`
        select count(*)::int as n from pg_stat_activity where datname = current_database() and query like 'listen posthorn_%'`;
      assert.equal(settings!.n, 1, "one session listens");
      assert.equal(await program.stop(), 0);
    } finally {
      await program.remove();
      await bouncer.stop();
    }
  });
});
