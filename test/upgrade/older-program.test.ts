/** The program of an older commit and the current one on one database: both send mail before, during and after the migration. */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { silentLog } from "../../src/ops/log.ts";
import { migrate, readMigrations } from "../../src/postgres/migrate.ts";
import { schemaState } from "../../src/postgres/schema-state.ts";
import { assertAudit, type Load, startLoad, untilSettled } from "../harness/ledger.ts";
import { laterMigrations } from "../harness/migrations.ts";
import { checkOut, type OlderCheckout } from "../harness/older-checkout.ts";
import { newDataDir, type RunningProgram, runCommand, startProgram } from "../harness/program.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

/** The last commit of schema version 1. */
const olderCommit = "8e1c90549fe626eda94e3d877052539a04514f10";
const checkoutOrReason = await checkOut(olderCommit);
const skip = typeof checkoutOrReason === "string" ? checkoutOrReason : false;
after(async () => {
  if (typeof checkoutOrReason !== "string") await checkoutOrReason.remove();
});

describe("an older program and the new one on one database", { skip }, () => {
  const checkout = checkoutOrReason as OlderCheckout;
  const ends: (() => Promise<unknown>)[] = [];
  let testbed: Testbed;
  let load: Load;
  let older: RunningProgram;
  let newer: RunningProgram;
  const nodes = new Set<RunningProgram>();
  const ownVersion = async () => (await readMigrations()).length;
  const version = async () => (await schemaState(testbed.database.sql)).version;

  before(async () => {
    testbed = await startTestbed({ checkout });
    ends.push(testbed.stop);
    older = testbed.program;
    nodes.add(older);
    // Calls alternate between the nodes.
    let turn = 0;
    testbed.call = (...args) => [...nodes][turn++ % nodes.size]!.call(...args);
    load = startLoad(testbed, { name: "upgrade", senders: 3, pauseMs: 20 });
    ends.push(async () => load.giveUp());
  });
  after(async () => {
    for (const end of ends.reverse()) await end();
  });

  it("the older program creates the schema and sends", async () => {
    await load.untilDelivering();
    assert.equal(await version(), 1);
  });

  it("the new program migrates while the older one sends, and then both send", async () => {
    newer = await testbed.startNode();
    nodes.add(newer);
    assert.equal(await version(), await ownVersion());
    await load.untilAcknowledged(20);
    await load.untilDelivering();
  });

  it("the older program restarts on the new schema", async () => {
    nodes.delete(older);
    assert.equal(await older.stop(), 0);
    older = await testbed.startNode({}, checkout);
    nodes.add(older);
    assert.equal(await version(), await ownVersion());
    await load.untilAcknowledged(20);
  });

  it("both keep sending while a later release adds columns to every busy table and an index", async () => {
    const { folder, names, remove } = await laterMigrations(
      ...busyTables.map((table) => `alter table ${table} add column later text;`),
      "alter table emails add column later_too integer not null default 7;",
      "create index concurrently emails_by_later on emails (later, workspace_id);",
    );
    ends.push(remove);
    const { applied } = await migrate(testbed.database.sql, silentLog(), { folder });
    assert.deepEqual(applied, names);
    await load.untilAcknowledged(20);
    await load.untilDelivering();
  });

  it("both restart on that schema, which is newer than either program", async () => {
    for (const node of [older, newer]) {
      nodes.delete(node);
      assert.equal(await node.stop(), 0);
      nodes.add(await testbed.startNode({}, node === older ? checkout : undefined));
      await load.untilAcknowledged(10);
    }
    assert.match([...nodes][1]!.output(), /the schema is newer than this program and serves it/);
    await load.untilDelivering();
  });

  it("every email was delivered, the log has no gaps, and no response was wrong", async () => {
    await load.stop();
    await untilSettled(testbed);
    assert.deepEqual(load.wrong, []);
    const { emails } = await assertAudit(testbed, load.ledger);
    assert.ok(emails > 60, `${emails} emails`);
    for (const node of nodes) assert.equal(await node.stop(), 0);
  });

  it("both fail to start on a schema that no longer serves them, and explain what to do", async () => {
    const own = await ownVersion();
    const { version: newest } = await schemaState(testbed.database.sql);
    await testbed.database.sql`insert into schema_versions (version, name, checksum, serves)
      values (${newest + 1}, 'hard.sql', 'x', ${own + 1})`;
    await testbed.database
      .sql`insert into schema_migrations (version, name, checksum) values (${newest + 1}, 'hard.sql', 'x')`;
    const dataDir = await newDataDir();
    ends.push(() => rm(dataDir, { recursive: true, force: true }));
    const start = async (of?: OlderCheckout) =>
      await runCommand(["start"], { dataDir, databaseUrl: testbed.database.url, checkout: of });
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

  it("the new release backs up the older schema and migrates it while the older program runs; then both programs start", async () => {
    const older = checkoutOrReason as OlderCheckout;
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
