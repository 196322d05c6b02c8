/** `posthorn workspaces delete` and `posthorn people delete` that are killed: the same command, repeated, does the rest. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { addPerson } from "../../src/people/store.ts";
import { makeUuid } from "../../src/postgres/ids.ts";
import { addFirstOwner, createWorkspace } from "../../src/workspaces/store.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { findLeftovers } from "../harness/leftovers.ts";
import { newDataDir, programEnv, runCommand } from "../harness/program.ts";
import { until } from "../harness/wait.ts";

let database: TestDatabase;
let dataDir: string;
before(async () => {
  database = await createTestDatabase();
  dataDir = await newDataDir();
  // The first workspace cannot be deleted.
  await run("keys", "create", "first");
});
after(async () => await database?.drop());

const run = (...args: string[]) => runCommand(args, { dataDir, databaseUrl: database.url });
const newId = () => makeUuid(Date.now());
const longest = { timeout: 60_000 };

/** Runs a command and kills it as soon as `reached` says so. */
async function runAndKill(args: readonly string[], reached: () => Promise<boolean>): Promise<void> {
  const bin = fileURLToPath(new URL("../../bin/posthorn.js", import.meta.url));
  const child = spawn(process.execPath, [bin, ...args], {
    env: programEnv(dataDir, { databaseUrl: database.url }),
    stdio: "ignore",
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  try {
    await until("the moment of the kill", async () => child.exitCode !== null || (await reached()), { everyMs: 2 });
    assert.equal(child.exitCode, null, "the command ended before the kill");
  } finally {
    child.kill("SIGKILL");
    await ended;
  }
}

async function addWorkspace(name: string, events: number): Promise<string> {
  const { id } = await createWorkspace(database.sql, { id: newId(), name });
  await database.sql`insert into events (workspace_id, number, id, type, payload)
    select ${id}, n, gen_random_uuid(), 'email.delivered', '{}' from generate_series(1, ${events}::int) n`;
  return id;
}

async function countEvents(id: string): Promise<number> {
  const [row] = await database.sql<{ rows: number }[]>`
    select count(*)::int as rows from events where workspace_id = ${id}`;
  return row!.rows;
}

test("a killed deletion of a workspace continues with the same command, also by name", longest, async () => {
  const id = await addWorkspace("Half Gone", 20_000);
  const command = ["workspaces", "delete", "Half", "Gone", "--yes"];
  await runAndKill(command, async () => (await countEvents(id)) < 18_000);
  assert.ok((await countEvents(id)) > 0, "the kill came too late to test anything");
  const asked = await run("workspaces", "delete", "Half", "Gone");
  assert.equal(asked.code, 2, "still not without --yes");
  const { code, stdout, stderr } = await run(...command);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^Half Gone is deleted\./);
  assert.deepEqual(await database.sql`select 1 from workspaces where id = ${id}`, []);
  assert.equal(await countEvents(id), 0);
});

test("a new workspace with the name of one that is being deleted is not deleted by mistake", longest, async () => {
  const old = await addWorkspace("Twice", 20_000);
  const command = ["workspaces", "delete", "Twice", "--yes"];
  await runAndKill(command, async () => (await countEvents(old)) < 18_000);
  const id = await addWorkspace("Twice", 1);
  const { code, stderr } = await run(...command);
  assert.equal(code, 2);
  assert.match(stderr, /Several workspaces are called "Twice"\. Use the id/);
  assert.equal(await countEvents(id), 1);
  assert.equal((await run("workspaces", "delete", `ws_${old}`, "--yes")).code, 0);
  assert.equal(await countEvents(id), 1);
});

test("a killed deletion of a person has changed nothing, and the same command does it", longest, async () => {
  const { sql } = database;
  const email = "half.gone@there.test";
  const { id: personId } = (await addPerson(sql, { email, name: "Half", passwordHash: "h", nowMs: Date.now() }))!;
  const workspaceId = await addWorkspace("Kept", 1);
  for (const [owner, address] of [
    [personId, email],
    [
      (await addPerson(sql, { email: "o@there.test", name: "O", passwordHash: "h", nowMs: Date.now() }))!.id,
      "o@there.test",
    ],
  ] as const)
    await addFirstOwner(sql, { workspaceId, id: newId(), personId: owner, email: address });
  const before = await findLeftovers(sql, [email]);
  const command = ["people", "delete", email, "--yes"];
  await sql.begin(async (tx) => {
    // The last step of the deletion waits for this lock.
    await tx`select 1 from people where id = ${personId} for key share`;
    const isWaiting = async () => {
      const rows =
        await sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      return rows.length > 0;
    };
    await runAndKill(command, isWaiting);
  });
  assert.deepEqual(await findLeftovers(sql, [email]), before);
  const { code, stderr } = await run(...command);
  assert.equal(code, 0, stderr);
  assert.deepEqual(await findLeftovers(sql, [email]), []);
  const again = await run(...command);
  assert.equal(again.code, 2);
  assert.match(again.stderr, /No person signed up with half\.gone@there\.test/);
});
