/** `posthorn people export`: what is stored about a person, with the mail about their account, and without secrets. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Manifest } from "../../src/operators/export.ts";
import { createTestDatabase } from "../harness/database.ts";
import { joinAs, openBrowser, signUpFirst } from "../harness/people.ts";
import { runCommand, startProgram } from "../harness/program.ts";
import { until } from "../harness/wait.ts";

test("an export of a person has everything that names them, and no secret", async () => {
  const database = await createTestDatabase({ example: true });
  const { sql } = database;
  const program = await startProgram({ databaseUrl: database.url });
  const folder = await mkdtemp(join(tmpdir(), "posthorn-person-"));
  try {
    const owner = await signUpFirst(program);
    const email = "ann@there.test";
    const ann = await joinAs(owner, program, { email, role: "developer" });
    await openBrowser(program).post("/auth/request-password-reset", { email });
    await until("the mail", async () => {
      const rows = await sql`select 1 from recipients where address = ${email} and status = 'delivered' offset 1`;
      return rows.length > 0;
    });
    await ann.rpc("KeyService/CreateKey", { name: "k", permission: "KEY_PERMISSION_FULL" }, owner.workspace);
    const path = join(folder, "ann");
    const options = { dataDir: program.dataDir, databaseUrl: database.url };
    const { code, stdout, stderr } = await runCommand(["people", "export", email, path, "--json"], options);
    assert.equal(code, 0, stderr);
    const manifest = JSON.parse(stdout) as Manifest;
    const rows = Object.fromEntries(manifest.files.map(({ file, rows }) => [file, rows]));
    assert.equal(manifest.subject.slice(0, 4), "per_");
    // An invitation and a link for a new password.
    const expected = {
      "people.jsonl": 1,
      "members.jsonl": 1,
      "emails.jsonl": 2,
      "recipients.jsonl": 2,
      "events.jsonl": 2,
    };
    for (const [file, count] of Object.entries(expected)) assert.equal(rows[file], count, file);
    for (const file of ["people-sessions.jsonl", "people-accounts.jsonl", "people-links.jsonl", "audit.jsonl"])
      assert.ok(rows[file]! > 0, file);
    assert.equal(rows["files.jsonl"], 2);
    const all = (await Promise.all(manifest.files.map(({ file }) => readFile(join(path, file), "utf8")))).join();
    assert.ok(!all.includes("owner@there.test"), "another person");
    const secrets = await sql<{ secret: string }[]>`
      select token as secret from people_sessions union all select password from people_accounts union all select token_hash from people_links`;
    assert.ok(secrets.length >= 4);
    for (const { secret } of secrets) assert.ok(!all.includes(secret), "a secret");
    const [person] = all.split("\n").filter((line) => line.includes('"isOperator"'));
    assert.match(person!, /"email":"ann@there\.test"/);
  } finally {
    await rm(folder, { recursive: true, force: true });
    await program.remove();
    await database.drop();
  }
});
