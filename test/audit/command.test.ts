/** posthorn audit: changes by command line are in the log, which the command shows, filters and exports. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type RunningProgram, runCommand, startProgram } from "../harness/program.ts";

let database: TestDatabase;
let program: RunningProgram;
before(async () => {
  database = await createTestDatabase();
  program = await startProgram({ databaseUrl: database.url });
});
after(async () => {
  await program?.stop();
  await database?.drop();
});

const posthorn = (...args: string[]) => runCommand(args, { dataDir: program.dataDir, databaseUrl: database.url });

test("a command that creates the first workspace leaves an entry", async () => {
  const fresh = await createTestDatabase();
  try {
    const options = { dataDir: program.dataDir, databaseUrl: fresh.url };
    for (let i = 0; i < 2; i++) {
      const invited = await runCommand(["people", "invite", `p${i}@there.test`], options);
      assert.equal(invited.code, 0, invited.stderr);
    }
    const rows = await fresh.sql<{ entry: string; isFirst: boolean }[]>`
      select actor || ' ' || action as entry, workspace_id::text = (select value from settings where name = 'first_workspace') as "isFirst"
      from audit_entries order by id`;
    assert.deepEqual(rows, [
      { entry: "command workspace.created", isFirst: true },
      { entry: "command member.invited", isFirst: true },
      { entry: "command member.invited", isFirst: true },
    ]);
  } finally {
    await fresh.drop();
  }
});

test("shows what the command line changed, in a workspace and in the whole service", async () => {
  const empty = await posthorn("audit", "--action", "domain");
  assert.deepEqual([empty.code, empty.stdout], [0, "No entry of the audit log matches.\n"]);
  for (const args of [
    ["domains", "add", "shop.test"],
    ["workspaces", "create", "Second"],
    ["queue", "--pause", "x.test"],
    ["domains", "delete", "shop.test"],
  ])
    assert.equal((await posthorn(...args)).code, 0, args.join(" "));
  const actionsOf = async (...args: string[]) => {
    const { code, stdout, stderr } = await posthorn("audit", "--json", ...args);
    assert.deepEqual([code, stderr], [0, ""]);
    const lines = stdout.trim() === "" ? [] : stdout.trim().split("\n");
    const entries = lines.map((line) => JSON.parse(line) as { action: string; actor: string });
    assert.ok(entries.every(({ actor }) => actor === "AUDIT_ACTOR_COMMAND"));
    return entries.map(({ action }) => action);
  };
  assert.deepEqual(await actionsOf(), ["domain.deleted", "queue.paused", "domain.added"]);
  assert.deepEqual(await actionsOf("--workspace", "Second"), ["workspace.created"]);
  assert.deepEqual(await actionsOf("--all", "--limit", "3"), ["domain.deleted", "queue.paused", "workspace.created"]);
  assert.deepEqual(await actionsOf("--action", "domain", "--from", "2020-01-01"), ["domain.deleted", "domain.added"]);
  assert.deepEqual(await actionsOf("--to", "2020-01-01T00:00:00Z"), []);
  const shown = await posthorn("audit");
  assert.match(shown.stdout, /^TIME +WHO +FROM +ACTION[\s\S]*\d{4}-\d\d-\d\dT\S+ +command +domain\.deleted +dom_/);
});

test("mistakes in its options are named", async () => {
  for (const [args, text] of [
    [["--all", "--workspace", "x"], /--all or --workspace/],
    [["--limit", "none"], /--limit/],
    [["--from", "yesterday"], /--from must be a day or a time/],
    [["--actor", "Olga"], /--actor must be the id of a person or a key/],
  ] as const) {
    const { code, stderr } = await posthorn("audit", ...args);
    assert.equal(code, 2);
    assert.match(stderr, text);
  }
});
