/** `posthorn people export`: everything that deleting the person deletes is in the folder, but no secret and no link that is still valid. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Manifest } from "../../src/operators/export.ts";
import { fileOf, notExported } from "../../src/operators/store/export.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { countMatches } from "../harness/leftovers.ts";
import { type Browser, capturedMail, joinAs, signUpFirst, tokenIn } from "../harness/people.ts";
import { fillPerson } from "../harness/person-rows.ts";
import { type RunningProgram, runCommand, startProgram } from "../harness/program.ts";

describe("the export of a person", () => {
  const email = "gone.forever@there.test";
  const name = "Gwendolyn";
  let database: TestDatabase;
  let program: RunningProgram;
  let owner: { browser: Browser; workspace: string };
  let folder: string;
  let personId: string;
  let filled: { resetId: string; inboundId: string };
  let resetToken: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "posthorn-export-"));
    database = await createTestDatabase({ example: true });
    program = await startProgram({ databaseUrl: database.url });
    owner = await signUpFirst(program);
    const { sql } = database;
    const browser = await joinAs(owner, program, { email, role: "developer" });
    await sql`update people set name = ${name} where email = ${email}`;
    const key = { name: "hers", permission: "KEY_PERMISSION_FULL" };
    assert.equal((await browser.rpc("KeyService/CreateKey", key, owner.workspace)).status, 200);
    const [person] = await sql<{ id: string }[]>`select id from people where email = ${email}`;
    personId = person!.id;
    filled = await fillPerson(sql, program, {
      id: personId,
      email,
      name,
      workspaceId: owner.workspace.replace("ws_", ""),
    });
    resetToken = tokenIn(await capturedMail(program, email, /password/));
  });
  after(async () => {
    await program?.remove();
    await database?.drop();
    await rm(folder, { recursive: true, force: true });
  });

  async function run(...args: string[]): Promise<Manifest> {
    const { code, stdout, stderr } = await runCommand([...args, "--json"], {
      dataDir: program.dataDir,
      databaseUrl: database.url,
    });
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as Manifest;
  }

  /** All files by their path. */
  async function readAll(path: string): Promise<Map<string, string>> {
    const entries = await readdir(path, { recursive: true, withFileTypes: true });
    const files = new Map<string, string>();
    for (const entry of entries) {
      const file = join(entry.parentPath, entry.name);
      assert.equal((await stat(file)).mode & 0o777, entry.isDirectory() ? 0o700 : 0o600, file);
      if (entry.isFile()) files.set(file.slice(path.length + 1), await readFile(file, "utf8"));
    }
    return files;
  }

  const linesOf = (text: string | undefined) =>
    (text ?? "")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  it("has every row that names the person, in every table of the schema", async () => {
    const path = join(folder, "rows");
    // The export adds an entry about itself to the audit log before it reads.
    const matches = await countMatches(database.sql, [email, name, personId]);
    const manifest = await run("people", "export", email, path);
    const files = await readAll(path);
    for (const table of [
      "keys",
      "suppressions",
      "inbound_messages",
      "audit_entries",
      "people_sessions",
      "people_accounts",
    ])
      assert.ok(matches.has(table), `the test has no row in ${table}`);
    for (const [table, rows] of matches) {
      if (notExported.includes(table)) continue;
      const exported = manifest.files.find(({ file }) => file === fileOf(table))?.rows ?? 0;
      assert.ok(exported >= rows, `${table}: ${exported} of ${rows} rows`);
    }
    const [key] = linesOf(files.get("keys.jsonl"));
    assert.deepEqual([key?.name, key?.makerPersonId], ["hers", `per_${personId}`]);
    assert.equal(manifest.subject, `per_${personId}`);
    const everything = [...files.values()].join("\n");
    assert.ok(!everything.includes("owner@there.test"), "another person");
    const secrets = await database.sql<{ secret: string }[]>`
      select token as secret from people_sessions union all select password from people_accounts where password is not null
      union all select token_hash from people_links union all select secret_hash from keys`;
    assert.ok(secrets.length >= 5);
    for (const { secret } of secrets) assert.ok(secret === name || !everything.includes(secret), "a secret");
  });

  it("leaves out mail with a link that is still valid, and says so", async () => {
    const files = await readAll(join(folder, "rows"));
    for (const [file, text] of files) assert.ok(!text.includes(resetToken), file);
    const replied = linesOf(files.get("events.jsonl")).find(({ type }) => type === "email.replied");
    assert.deepEqual(replied?.payload, { from: email });
    const [reply] = linesOf(files.get("inbound.jsonl"));
    assert.deepEqual(
      [reply?.fromAddress, reply?.body, reply?.newText, reply?.html],
      [email, undefined, undefined, undefined],
    );
    const leftOut = linesOf(files.get("left-out.jsonl"));
    const ids = leftOut.map(({ of }) => of);
    for (const id of [`em_${filled.resetId}`, `in_${filled.inboundId}`, replied?.id])
      assert.ok(ids.includes(id), `${id}`);
    assert.match(String(leftOut[0]?.reason), /a link that is still valid/);
    assert.deepEqual(linesOf(files.get("files.jsonl")), []);
  });

  it("of the first workspace has neither account mail nor replies to it", async () => {
    const path = join(folder, "workspace");
    await run("workspaces", "export", owner.workspace, path);
    const files = await readAll(path);
    for (const [file, text] of files) {
      assert.ok(!text.includes(resetToken), file);
      assert.ok(!text.includes(`${name} body`), file);
    }
    for (const file of ["emails.jsonl", "inbound.jsonl"]) assert.equal(files.get(file), "", file);
  });

  it("has all mail when no link is valid any longer", async () => {
    await database.sql`delete from people_links where email = ${email}`;
    const path = join(folder, "later");
    await run("people", "export", email, path);
    const files = await readAll(path);
    assert.equal(files.get("left-out.jsonl"), "");
    const bodies = [...files].filter(([file]) => file.endsWith("body.txt")).map(([, text]) => text);
    assert.ok(bodies.some((text) => text.includes("A new password was requested")));
    const message = [...files].find(([file]) => file.endsWith(`in_${filled.inboundId}.eml`));
    assert.equal(message?.[1], `From: ${name}\r\n\r\nraw`);
    const [reply] = linesOf(files.get("inbound.jsonl"));
    assert.equal(reply?.newText, `${name} new text`);
  });
});
