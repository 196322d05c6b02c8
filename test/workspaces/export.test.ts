/** `posthorn workspaces export`: everything of the workspace is in the folder, secrets and other workspaces are not, and an export that was
 * killed continues to the same result. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Manifest } from "../../src/operators/export.ts";
import { deliverInbound, enableReceiving, type InboundTestbed, startInboundTestbed } from "../harness/inbound.ts";
import { fillTables } from "../harness/leftovers.ts";
import { programEnv } from "../harness/program.ts";
import { addTenant, operate, tryOperate } from "../harness/quotas.ts";
import { until } from "../harness/wait.ts";

let testbed: InboundTestbed;
let folder: string;
let tenant: { key: string; workspaceId: string };
const marker = "zanzibar";
const body = Buffer.from(Array.from({ length: 700_000 }, (_, i) => i % 251));

before(async () => {
  testbed = await startInboundTestbed();
  folder = await mkdtemp(join(tmpdir(), "posthorn-export-"));
  tenant = await addTenant(testbed, "Moving Out", "moving.test");
  await enableReceiving(testbed, "moving.test");
  const email = {
    from: "a@moving.test",
    to: ["b@there.test"],
    subject: "Grüße",
    body: "the text",
    html: "<p>the page</p>",
    attachments: [
      { filename: "../../../evil.txt", contentType: "text/plain", base64Content: body.toString("base64") },
      { filename: "r\u00e9sum\u00e9.pdf", contentType: "application/pdf", base64Content: "eA==" },
    ],
  };
  const { status, body: answer } = await testbed.call("EmailService/SendEmail", email, { key: tenant.key });
  assert.equal(status, 200, JSON.stringify(answer));
  const raw = "From: ann@there.test\nSubject: Hi\nMessage-ID: <in@there.test>\n\nHello\n";
  assert.match(await deliverInbound(testbed, { to: "x@moving.test", raw }), /^250/);
  const { sql } = testbed.database;
  await sql`insert into events (workspace_id, number, id, type, payload)
    select ${tenant.workspaceId}, 1000 + n, gen_random_uuid(), 'email.delivered', '{"recipients": ["b@there.test"]}' from generate_series(1, 30000) n`;
  // Nothing changes from here on, so that two exports are equal, and no loop takes a row that was just added.
  await testbed.program.stop();
  await fillTables(sql, { column: "workspace_id", id: tenant.workspaceId, marker, except: ["workspace_deletions"] });
});
after(async () => {
  await testbed?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function linesOf(path: string): Promise<Record<string, unknown>[]> {
  const text = await readFile(path, "utf8");
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

test("an export has every row of the workspace, content as files, and a manifest", async () => {
  const { sql } = testbed.database;
  const path = join(folder, "first");
  const printed = await operate(testbed, "workspaces", "export", "Moving", "Out", path, "--json");
  const manifest = JSON.parse(printed) as Manifest;
  assert.deepEqual(JSON.parse(await readFile(join(path, "manifest.json"), "utf8")), manifest);
  assert.equal(manifest.subject, `ws_${tenant.workspaceId}`);
  assert.equal((await stat(path)).mode & 0o777, 0o700);
  for (const { file, rows, bytes, sha256 } of manifest.files) {
    const data = await readFile(join(path, file));
    assert.equal(createHash("sha256").update(data).digest("hex"), sha256, file);
    assert.equal(data.length, bytes);
    assert.equal((await linesOf(join(path, file))).length, rows);
    assert.equal((await stat(join(path, file))).mode & 0o777, 0o600);
  }
  const tables = await sql<{ name: string }[]>`
    select c.relname::text as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'workspace_id'
    where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = current_schema()::regnamespace`;
  const asFiles = [
    "email_contents",
    "inbound_contents",
    "content_objects",
    "idempotency",
    "inbound_seen",
    "workspace_deletions",
  ];
  const names: Record<string, string> = { inbound_messages: "inbound", audit_entries: "audit" };
  for (const { name } of tables.filter((table) => !asFiles.includes(table.name))) {
    const [row] = await sql<{ rows: number }[]>`
      select count(*)::int as rows from ${sql.unsafe(name)} where workspace_id = ${tenant.workspaceId}`;
    const file = `${names[name] ?? name.replaceAll("_", "-")}.jsonl`;
    const found = manifest.files.find((one) => one.file === file);
    assert.ok(row!.rows > 0, `${name} has no row to export`);
    // The export itself adds its entry to the audit log.
    assert.equal(found?.rows, row!.rows, file);
  }
  const [workspace] = await linesOf(join(path, "workspace.jsonl"));
  assert.equal(workspace?.name, "Moving Out");
  const [key] = await linesOf(join(path, "keys.jsonl"));
  assert.match(String(key?.id), /^key_/);
  const everything = (await Promise.all(manifest.files.map(({ file }) => readFile(join(path, file), "utf8")))).join();
  assert.ok(!everything.includes(tenant.key.split("_").at(-1)!), "the secret of a key");
  for (const secret of ["secretHash", "privateKeySealed", "secretSealed", "inviteHash"])
    assert.ok(!everything.includes(secret), secret);
  assert.ok(!everything.includes("sender.test"), "another workspace's data");

  const files = (await linesOf(join(path, "files.jsonl"))) as { path: string; sha256: string; bytes: number }[];
  for (const file of files) {
    const data = await readFile(join(path, file.path));
    assert.equal(createHash("sha256").update(data).digest("hex"), file.sha256, file.path);
  }
  const shown = files.map((file) => file.path.replace(/\d{4}-\d\d-\d\d|(em|in)_[0-9a-f-]+/g, "*")).sort();
  assert.deepEqual(shown, [
    "emails/*/*/attachments/01-_.._.._evil.txt",
    "emails/*/*/attachments/02-résumé.pdf",
    "emails/*/*/body.html",
    "emails/*/*/body.txt",
    "inbound/*/*.eml",
  ]);
  const evil = files.find((file) => file.path.endsWith("evil.txt"))!;
  assert.deepEqual(await readFile(join(path, evil.path)), body);
  const message = files.find((file) => file.path.endsWith(".eml"))!;
  assert.match(await readFile(join(path, message.path), "utf8"), /^From: ann@there\.test\r\n[\s\S]*Hello\r\n$/m);
  const [entry] = await sql<{ actor: string }[]>`select actor from audit_entries where action = 'workspace.exported'`;
  assert.equal(entry?.actor, "command");
});

test("an export that was killed continues to the same result, and mixes with no other", async () => {
  const path = join(folder, "killed");
  const bin = fileURLToPath(new URL("../../bin/posthorn.js", import.meta.url));
  const args = ["workspaces", "export", `ws_${tenant.workspaceId}`, path];
  const env = programEnv(testbed.program.dataDir, { databaseUrl: testbed.database.url, env: testbed.nodeEnv });
  const child = spawn(process.execPath, ["--max-semi-space-size=16", bin, ...args], { env, stdio: "ignore" });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  await until(
    "a part of the events",
    async () => {
      const size = (await stat(join(path, "events.jsonl"))).size;
      return size > 200_000 || child.exitCode !== null;
    },
    { everyMs: 2 },
  );
  child.kill("SIGKILL");
  await ended;
  const names = await readdir(path);
  assert.ok(!names.includes("manifest.json"), "the kill came too late to test anything");
  // What a kill can leave behind: half a line after the last checkpoint.
  await writeFile(join(path, "events.jsonl"), '{"half', { flag: "a" });
  const other = await tryOperate(testbed, "workspaces", "export", "default", path);
  assert.equal(other.code, 1);
  assert.match(other.stderr, /has an unfinished export of ws_/);

  await operate(testbed, ...args);
  const again = await tryOperate(testbed, ...args);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /has a complete export already/);
  const strange = join(folder, "strange");
  await operate(testbed, "workspaces", "export", "default", strange);
  await rm(join(strange, "manifest.json"));
  assert.match((await tryOperate(testbed, "workspaces", "export", "default", strange)).stderr, /is not empty/);

  const first = JSON.parse(await readFile(join(folder, "first", "manifest.json"), "utf8")) as Manifest;
  const second = JSON.parse(await readFile(join(path, "manifest.json"), "utf8")) as Manifest;
  // Each export adds an entry to the audit log.
  const stable = ({ files }: Manifest) => files.filter(({ file }) => !file.startsWith("audit"));
  assert.deepEqual(stable(second), stable(first));
  assert.deepEqual((await readdir(path)).sort(), (await readdir(join(folder, "first"))).sort());
});
