/** A DATABASE_URL with several hosts: the program connects to the primary only, and leaves it once another server is promoted. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { silentLog } from "../../src/ops/log.ts";
import { readDatabaseUrl } from "../../src/postgres/database-url.ts";
import { readView } from "../../src/postgres/host-view.ts";
import { createHosts, graceMs } from "../../src/postgres/hosts.ts";
import { recordOrigin } from "../../src/postgres/log-origin.ts";
import { examineServer, openDb, type Sql } from "../../src/postgres/pool.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { createReplica, ownAccount, type Replica } from "../harness/replica.ts";
import { type Node, type Replicas, startReplicas, withoutReplicas } from "../harness/replicas.ts";
import { patienceMs, until } from "../harness/wait.ts";

describe("several hosts", { skip: withoutReplicas }, () => {
  let replicas: Replicas;
  let database: TestDatabase;
  const opened: Sql[] = [];
  before(async () => {
    replicas = await startReplicas({ synchronous: false });
    database = await createTestDatabase({ server: replicas.server });
    await recordOrigin(database.sql);
  });
  after(async () => {
    for (const sql of opened) await sql.end();
    await database?.drop();
    await replicas?.stop();
  });

  const hostOf = ({ client }: Node) => new URL(client.url).host;
  const urlOf = (...hosts: string[]) => database.url.replace(/@[^/]+\//, `@${hosts.join(",")}/`);
  const open = (url: string) => {
    const sql = openDb({ url, pool: 2, log: silentLog() });
    opened.push(sql);
    return sql;
  };
  const others = () => replicas.nodes.filter((node) => node !== replicas.primary());
  /** The directory of the data shows which server a connection has reached. */
  const reached = async (sql: Sql) => {
    const [row] = await sql<{ at: string }[]>`select current_setting('data_directory') as at`;
    return replicas.nodes.find(({ name }) => row!.at.includes(`/${name}/data`))!.name;
  };

  test("finds the primary at any place of the list", async () => {
    const hosts = replicas.nodes.map(hostOf);
    for (const turn of [0, 1, 2]) {
      const url = urlOf(...hosts.slice(turn), ...hosts.slice(0, turn));
      assert.equal(await reached(open(url)), replicas.primary().name);
      assert.equal((await examineServer(url)).sharedSessions, false);
    }
  });

  test("hosts that do not answer, or do not exist, delay nothing for good", async () => {
    const [one, two] = others();
    one!.client.freeze();
    const sql = open(urlOf(hostOf(one!), "127.0.0.1:1", hostOf(two!), hostOf(replicas.primary())));
    assert.equal(await reached(sql), replicas.primary().name);
    const reports = await sql.hosts.survey();
    assert.deepEqual(
      reports.map(({ view, error }) => view?.standby ?? (error as { code?: string }).code),
      ["NO_ANSWER", "ECONNREFUSED", true, false],
    );
    one!.client.thaw();
  });

  test("without a primary, the error is that of a read-only database and names each host", async () => {
    const [one, two] = others();
    const sql = open(urlOf(hostOf(one!), hostOf(two!), "127.0.0.1:1"));
    await assert.rejects(sql`select 1`.then(), (error: Error & { code: string }) => {
      assert.equal(error.code, "25006");
      assert.match(error.message, /:\d+ is a standby, 127\.0\.0\.1:\d+ is a standby, 127\.0\.0\.1:1 does not answer/);
      assert.doesNotMatch(error.message, /replicated/, "the password");
      return true;
    });
    await assert.rejects(sql.listen("posthorn_mail", () => {}));
  });

  test("an ordinary login can read roles and timelines, on a primary and on a standby", async () => {
    const name = new URL(urlOf("one")).pathname.slice(1);
    await replicas.primary().replica.query(`create role ordinary login password 'replicated'`);
    await replicas.caughtUp();
    const views = [];
    for (const { replica } of [replicas.primary(), ...others()]) {
      const client = new pg.Client({
        host: replica.directory,
        user: "ordinary",
        password: "replicated",
        database: name,
      });
      await client.connect();
      views.push(await readView(client, 10_000));
      await client.end();
    }
    const { system, timeline } = views[0]!;
    assert.ok(Number(system) > 0 && timeline === 1);
    assert.deepEqual(
      views.map(({ standby }) => standby),
      [false, true, true],
    );
    for (const view of views) assert.deepEqual([view.system, view.timeline], [system, timeline]);
  });

  test("a host of another cluster is not used, also if it answers first, and without a trace of the own cluster neither is", async () => {
    const directory = await mkdtemp(join(tmpdir(), "posthorn-foreign-"));
    let foreign: Replica | undefined;
    try {
      foreign = await createReplica({
        name: "foreign",
        directory: join(directory, "server"),
        account: await ownAccount(directory),
        settings: {},
      });
      await foreign.create();
      await foreign.start();
      const name = new URL(urlOf("one")).pathname.slice(1);
      await foreign.query(`create database ${name}`);
      const host = encodeURIComponent(foreign.directory);
      const mixed = urlOf(host, ...replicas.nodes.map(hostOf));
      assert.equal(await reached(open(mixed)), replicas.primary().name, "the log was written on its own cluster");
      await database.sql`delete from settings where name = 'log_origin'`;
      await assert.rejects(examineServer(mixed), { code: "DIFFERENT_CLUSTERS" });
      await recordOrigin(database.sql);
      // The own primary answers long after the foreign one.
      const own = replicas.primary().client;
      own.freeze();
      const hosts = createHosts(readDatabaseUrl(urlOf(host, hostOf(replicas.primary()))), silentLog(), {
        askMs: patienceMs,
      });
      const client = new hosts.Client();
      const connecting = client.connect();
      connecting.catch(() => {});
      await until("the answer of the foreign host", async () => {
        const rows = await foreign!.query(
          "select 1 from pg_stat_activity where query ~ 'pg_control_system' and pid <> pg_backend_pid()",
        );
        return rows.length > 0;
      });
      await delay(graceMs + 500);
      own.thaw();
      await connecting;
      const { rows } = await client.query("select current_setting('data_directory') as at");
      assert.ok(rows[0].at.includes(`/${replicas.primary().name}/data`), rows[0].at);
      await client.end();
      hosts.close();
    } finally {
      await foreign?.kill();
      await rm(directory, { recursive: true, force: true });
    }
  });

  test("once a host shows a higher timeline, every connection to the old primary ends, and no new one is made", async () => {
    const sql = open(database.url);
    const old = replicas.primary();
    const session = await sql.pool.connect();
    let missed = 0;
    await sql.listen("posthorn_mail", () => missed++);
    const heard = missed;
    await replicas.split();
    await session.query("select 1");
    assert.equal(await reached(sql), old.name, "the old primary is the only one in sight");
    replicas.heal();
    await until("the end of the session", () =>
      session.query("select 1").then(
        () => false,
        () => true,
      ),
    );
    session.release(true);
    await until("the new primary", async () => (await reached(sql)) === replicas.primary().name);
    await until("a new connection for LISTEN", () => missed > heard);
    assert.equal(sql.hosts.switches(), 1);
    // The old primary still accepts writes, and nothing else.
    await assert.rejects(
      open(urlOf(hostOf(old), hostOf(replicas.primary()))).begin(async (tx) => {
        assert.equal(await reached(tx), replicas.primary().name);
        throw new Error("seen");
      }),
      /seen/,
    );
    const rows = await old.replica.query(
      "select 1 from pg_stat_activity where application_name = 'posthorn' and query <> '' and query !~ 'pg_control_system'",
    );
    assert.deepEqual(rows, []);
    await replicas.rejoin(old);
  });

  test("after a kill of the primary, statements succeed on the promoted standby", async () => {
    const sql = open(database.url);
    assert.equal(await reached(sql), replicas.primary().name);
    const old = await replicas.killPrimary();
    await until("the new primary", async () => (await reached(sql)) === replicas.primary().name);
    await sql.write`insert into settings (name, value) values ('after', 'fail-over')`;
    await replicas.rejoin(old);
  });
});
