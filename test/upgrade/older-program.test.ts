/** The program of an older commit and the new one on one database: mail goes through both before, while and after the new one migrates. */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { silentLog } from "../../src/ops/log.ts";
import { migrate, readMigrations } from "../../src/store/migrate.ts";
import { schemaState } from "../../src/store/schema-state.ts";
import { type Load, reckon, startLoad, untilSettled } from "../harness/ledger.ts";
import { laterMigrations } from "../harness/migrations.ts";
import { checkOut, type OlderCheckout } from "../harness/older-checkout.ts";
import { newDataDir, type RunningProgram, runCommand, startProgram } from "../harness/program.ts";
import { startWorld, type World } from "../harness/world.ts";

/** The last commit of schema version 1. */
const olderCommit = "8e1c90549fe626eda94e3d877052539a04514f10";
const made = await checkOut(olderCommit);
const skip = typeof made === "string" ? made : false;
after(async () => {
  if (typeof made !== "string") await made.remove();
});

describe("an older program and the new one on one database", { skip }, () => {
  const checkout = made as OlderCheckout;
  const ends: (() => Promise<unknown>)[] = [];
  let world: World;
  let load: Load;
  let older: RunningProgram;
  let newer: RunningProgram;
  const nodes = new Set<RunningProgram>();
  const ownVersion = async () => (await readMigrations()).length;
  const version = async () => (await schemaState(world.database.sql)).version;

  before(async () => {
    world = await startWorld({ checkout });
    ends.push(world.stop);
    older = world.program;
    nodes.add(older);
    // Each call goes to another node.
    let turn = 0;
    world.call = (...args) => [...nodes][turn++ % nodes.size]!.call(...args);
    load = startLoad(world, { name: "upgrade", senders: 3, pauseMs: 20 });
    ends.push(async () => load.giveUp());
  });
  after(async () => {
    for (const end of ends.reverse()) await end();
  });

  it("the older one makes the schema and sends", async () => {
    await load.untilDelivering();
    assert.equal(await version(), 1);
  });

  it("the new one migrates while the older one sends, and both send", async () => {
    newer = await world.startNode();
    nodes.add(newer);
    assert.equal(await version(), await ownVersion());
    await load.untilAcknowledged(20);
    await load.untilDelivering();
  });

  it("the older one starts again on the new schema", async () => {
    nodes.delete(older);
    assert.equal(await older.stop(), 0);
    older = await world.startNode({}, checkout);
    nodes.add(older);
    assert.equal(await version(), await ownVersion());
    await load.untilAcknowledged(20);
  });

  it("both go on while a later release adds columns to every busy table and an index", async () => {
    const { folder, names, remove } = await laterMigrations(
      ...busyTables.map((table) => `alter table ${table} add column later text;`),
      "alter table emails add column later_too integer not null default 7;",
      "create index concurrently emails_by_later on emails (later, workspace_id);",
    );
    ends.push(remove);
    const { applied } = await migrate(world.database.sql, silentLog(), { folder });
    assert.deepEqual(applied, names);
    await load.untilAcknowledged(20);
    await load.untilDelivering();
  });

  it("both start again on that schema, which is newer than either", async () => {
    for (const node of [older, newer]) {
      nodes.delete(node);
      assert.equal(await node.stop(), 0);
      nodes.add(await world.startNode({}, node === older ? checkout : undefined));
      await load.untilAcknowledged(10);
    }
    assert.match([...nodes][1]!.output(), /the schema is newer than this program and serves it/);
    await load.untilDelivering();
  });

  it("every email was delivered, the log is dense, no answer was wrong", async () => {
    await load.stop();
    await untilSettled(world);
    assert.deepEqual(load.wrong, []);
    const { emails } = await reckon(world, load.ledger);
    assert.ok(emails > 60, `${emails} emails`);
    for (const node of nodes) assert.equal(await node.stop(), 0);
  });

  it("a schema that no longer serves them is refused by both, with the way out", async () => {
    const own = await ownVersion();
    const { version: newest } = await schemaState(world.database.sql);
    await world.database.sql`insert into schema_versions (version, name, checksum, serves)
      values (${newest + 1}, 'hard.sql', 'x', ${own + 1})`;
    await world.database
      .sql`insert into schema_migrations (version, name, checksum) values (${newest + 1}, 'hard.sql', 'x')`;
    const dataDir = await newDataDir();
    ends.push(() => rm(dataDir, { recursive: true, force: true }));
    const start = async (of?: OlderCheckout) =>
      await runCommand(["start"], { dataDir, databaseUrl: world.database.url, checkout: of });
    const old = await start(checkout);
    assert.equal(old.code, 1);
    assert.match(old.stderr, /migrated by a newer Posthorn: upgrade this node, or restore the back-up/);
    const now = await start();
    assert.equal(now.code, 1);
    assert.match(
      now.stderr,
      new RegExp(`needs a program of version ${own + 1} or newer; this program has version ${own}`),
    );
    assert.match(now.stderr, /Upgrade this node to the release that the other nodes run/);
  });
});

const busyTables = [
  ...["emails", "recipients", "email_contents", "events", "event_counters", "idempotency", "stats", "stats_marks"],
  ...["domains", "dkim_keys", "keys", "destinations", "sites", "workspaces", "settings", "workers", "follow_ups"],
];

describe("one node with the embedded database", { skip }, () => {
  let dataDir: string;
  before(async () => {
    dataDir = await newDataDir();
  });
  after(async () => await rm(dataDir, { recursive: true, force: true }));

  it("posthorn backup of the new release copies the older schema; posthorn migrate runs while the older one serves; then either of them starts", async () => {
    const older = made as OlderCheckout;
    const serves = async (program: RunningProgram) => {
      assert.equal((await program.call("KeyService/ListKeys")).status, 200);
    };
    const first = await startProgram({ dataDir, checkout: older });
    await serves(first);
    const copied = await runCommand(["backup", join(dataDir, "copy")], { dataDir });
    assert.equal(copied.code, 0, copied.stderr);
    const migrated = await runCommand(["migrate"], { dataDir });
    assert.equal(migrated.code, 0, migrated.stderr);
    assert.match(migrated.stdout, /0002_versions\.sql: applied in \d+ ms/);
    await serves(first);
    assert.equal(await first.stop(), 0);
    for (const which of [undefined, older, undefined]) {
      const next = await startProgram({ dataDir, checkout: which });
      assert.doesNotMatch(next.output(), /schema migrated/);
      await serves(next);
      assert.equal(await next.stop(), 0);
    }
  });
});
