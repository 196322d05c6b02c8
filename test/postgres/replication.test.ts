/**
 * A commit whose wait for its synchronous standby was canceled is a success with a warning for PostgreSQL. It is missing after a
 * failover, so no answer may be built on it.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { silentLog } from "../../src/ops/log.ts";
import { inCallScope } from "../../src/postgres/call-scope.ts";
import { recordOrigin } from "../../src/postgres/log-origin.ts";
import { NotReplicated } from "../../src/postgres/lost-connection.ts";
import { migrate } from "../../src/postgres/migrate.ts";
import { OutcomeUnknown } from "../../src/postgres/outage.ts";
import { openDb, type Sql } from "../../src/postgres/pool.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type Node, type Replicas, startReplicas, withoutReplicas } from "../harness/replicas.ts";
import { until } from "../harness/wait.ts";

describe("commits without their synchronous standby", { skip: withoutReplicas }, () => {
  let replicas: Replicas;
  let database: TestDatabase;
  let sql: Sql;
  before(async () => {
    replicas = await startReplicas({ synchronous: true });
    database = await createTestDatabase({ server: replicas.server });
    sql = openDb({ url: database.url, pool: 4, log: silentLog(), name: "under test" });
    await sql`create table notes (text text)`;
  });
  after(async () => {
    await sql?.end();
    await database?.drop();
    await replicas?.stop();
  });

  const standbys = (): Node[] => replicas.nodes.filter((node) => node !== replicas.primary());
  const stopStandbys = async () => void (await Promise.all(standbys().map(({ replica }) => replica.stop())));
  const startStandbys = async () => {
    await Promise.all(standbys().map(({ replica }) => replica.start()));
    await until("the standbys", async () => (await replicas.primary().replica.standbys()) === 2);
  };
  /** Sessions of the pool under test that wait for a standby. */
  const waiting = "application_name = 'under test' and wait_event = 'SyncRep'";
  /** Ends the wait of each commit until `done`, as statement_timeout and pg_cancel_backend do. */
  async function cancelWaits(how: "pg_cancel_backend" | "pg_terminate_backend", done: Promise<unknown>): Promise<void> {
    let isDone = false;
    const end = () => {
      isDone = true;
    };
    done.then(end, end);
    await until("the end of the waits", async () => {
      await replicas.primary().replica.query(`select ${how}(pid) from pg_stat_activity where ${waiting}`);
      return isDone;
    });
  }
  const stored = async (text: string) => (await database.sql`select 1 from notes where text = ${text}`).length;
  /** A caller who waits only for the shortest look-up. */
  const impatient = { committed: 0, timeLeftMs: () => 100, check: () => {}, sent: () => {} };

  for (const how of ["pg_cancel_backend", "pg_terminate_backend"] as const) {
    test(`a write, a transaction and a plain statement are unknown (${how})`, async () => {
      await stopStandbys();
      const kinds = {
        write: () => sql.write`insert into notes values (${`write ${how}`})`.then(),
        begin: () => sql.begin(async (tx) => await tx`insert into notes values (${`begin ${how}`})`),
        plain: () => sql`insert into notes values (${`plain ${how}`})`.then(),
      };
      const results = Object.entries(kinds).map(async ([kind, run]) => {
        const result = inCallScope(impatient, run);
        await assert.rejects(result, (error) => error instanceof OutcomeUnknown, kind);
      });
      const done = Promise.all(results);
      await cancelWaits(how, done);
      await done;
      await startStandbys();
      for (const kind of Object.keys(kinds))
        assert.equal(await stored(`${kind} ${how}`), 1, "the server has committed it");
    });
  }

  test("a write is also unknown if the database hides warnings", async () => {
    const name = database.url.split("/").at(-1)!;
    await database.sql.unsafe(`alter database ${name} set client_min_messages = error`);
    const fresh = openDb({ url: database.url, pool: 1, log: silentLog(), name: "under test" });
    try {
      await fresh`select 1`;
      await stopStandbys();
      const result = inCallScope(impatient, () => fresh.write`insert into notes values ('hidden')`.then());
      await Promise.all([
        assert.rejects(result, (error) => error instanceof OutcomeUnknown),
        cancelWaits("pg_cancel_backend", result),
      ]);
    } finally {
      await startStandbys();
      await fresh.end();
      await database.sql.unsafe(`alter database ${name} reset client_min_messages`);
    }
  });

  test("a look-up ends with a replicated commit of its own, and the write is then acknowledged", async () => {
    await stopStandbys();
    const result = sql.write`insert into notes values ('looked up')`.then();
    const lookUps = async () => {
      const rows = await replicas
        .primary()
        .replica.query<{ query: string }>(`select query from pg_stat_activity where ${waiting}`);
      return rows.filter(({ query }) => query.includes("returning request_hash")).length;
    };
    await until("the write to wait", async () => {
      await replicas
        .primary()
        .replica.query(`select pg_cancel_backend(pid) from pg_stat_activity where ${waiting} and query like '%commit'`);
      return (await lookUps()) > 0;
    });
    // Canceling the look-up itself proves nothing either: it is repeated.
    await replicas.primary().replica.query(`select pg_cancel_backend(pid) from pg_stat_activity where ${waiting}`);
    await until("another look-up", async () => (await lookUps()) > 0);
    await startStandbys();
    await result;
    assert.equal(await stored("looked up"), 1);
  });

  test("the write probe reports it, and the health names it", async () => {
    await stopStandbys();
    const probe = sql.health.testWrite();
    await Promise.all([assert.rejects(probe, { code: "NOT_REPLICATED" }), cancelWaits("pg_cancel_backend", probe)]);
    const result = sql`insert into notes values ('health')`.then();
    await Promise.all([assert.rejects(result), cancelWaits("pg_cancel_backend", result)]);
    assert.equal(sql.health.problem()?.reason, "DATABASE_NOT_REPLICATED");
    await startStandbys();
    await until("the end of the problem", () => sql.health.problem() === undefined);
  });

  test("a write that its caller gives up does not keep its session on the server", async () => {
    const sessions = async () =>
      (await replicas.primary().replica.query(`select 1 from pg_stat_activity where ${waiting}`)).length;
    await stopStandbys();
    const probe = sql.health.testWrite();
    probe.catch(() => {});
    await until("the wait", async () => (await sessions()) === 1);
    await assert.rejects(probe, { code: "NO_ANSWER" });
    await until("the end of the session", async () => (await sessions()) === 0);
    await startStandbys();
  });

  test("a cut of the logs counts only when it is replicated", async () => {
    await recordOrigin(sql);
    await sql`update settings set value = 'another/00000001' where name = 'log_origin'`;
    await stopStandbys();
    const fresh = openDb({ url: database.url, pool: 1, log: silentLog(), name: "under test" });
    const result = fresh`select 1`.then();
    await Promise.all([assert.rejects(result, { code: "NOT_REPLICATED" }), cancelWaits("pg_cancel_backend", result)]);
    await startStandbys();
    await fresh`select 1`;
    await fresh.end();
  });

  test("a migration fails rather than go on with a step that may not be replicated", async () => {
    const fresh = await createTestDatabase({ server: replicas.server, migrated: false });
    const own = openDb({ url: fresh.url, pool: 2, log: silentLog(), name: "under test" });
    await stopStandbys();
    const migrating = migrate(own, silentLog());
    await Promise.all([
      assert.rejects(migrating, (error) => error instanceof NotReplicated),
      cancelWaits("pg_cancel_backend", migrating),
    ]);
    await startStandbys();
    await migrate(own, silentLog());
    await own.end();
    await fresh.drop();
  });
});
