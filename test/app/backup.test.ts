/** posthorn backup while mail is being sent, and restore into another directory: every email accepted before the backup is there. */
import assert from "node:assert/strict";
import { mkdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { newDataDir, type RunningProgram, runCommand, startProgram } from "../harness/program.ts";
import { bin } from "../harness/started.ts";
import { startInTerminal, withoutTerminal } from "../harness/terminal.ts";
import { until } from "../harness/wait.ts";

/** Without POSTHORN_SECRET the program generates a secret, which the backup must contain. */
const env = { POSTHORN_SECRET: "" };
const email = { from: "a@example.test", to: ["b@example.test"], subject: "Hello", body: "x".repeat(2000) };

test("a backup made under load restores every email that was accepted before it", async (t) => {
  const root = await newDataDir();
  const [dataDir, copy, restored] = ["data", "copy", "restored"].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  let sending = true;
  const running: RunningProgram[] = [];
  const start = async (on: string) => {
    const program = await startProgram({ dataDir: on, env });
    running.push(program);
    return program;
  };
  t.after(async () => {
    sending = false;
    for (const program of running) await program.stop();
    await rm(root, { recursive: true, force: true });
  });
  const program = await start(dataDir);
  const answered: string[] = [];
  const senders = Array.from({ length: 2 }, async () => {
    for (; sending; await delay(100))
      answered.push((await program.call("EmailService/SendEmail", email)).body.id as string);
  });
  // Awaited below. If the test fails earlier, these rejections must not hide the reason.
  for (const sender of senders) sender.catch(() => {});
  await until("some emails", () => answered.length > 20);
  const before = [...answered];
  const done = await runCommand(["backup", copy, "--json"], { dataDir, env });
  assert.equal(done.code, 0, done.stderr);
  // Nothing but its progress, which a slow copy reports.
  assert.match(done.stderr, /^(?: *\d+ % \d+ MB copied\n)*$/);
  sending = false;
  await Promise.all(senders);
  assert.ok(answered.length > before.length, "no email was sent during the backup");
  assert.equal((await stat(copy)).mode & 0o777, 0o700);
  const onto = await runCommand(["backup", root], { dataDir, env });
  assert.equal(onto.code, 2);
  assert.match(onto.stderr, /not empty/, "a folder with files is never overwritten");
  const lost = await latestCursor(program);
  await program.stop();

  const back = await restoreShown(copy, restored);
  assert.equal(back.code, 0, back.output);
  assert.match(back.output, /1 workspaces, 1 domains, \d+ emails/);
  if (!withoutTerminal) assert.match(back.output, /\r\u001b\[K\[[#-]{24}\] +\d+ % \d+ MB copied/);
  const again = await start(restored);
  assert.equal(again.key, program.key);
  for (const id of before) assert.equal((await again.call("EmailService/GetEmail", { id })).status, 200, id);
  const { body } = await again.call("EmailService/ListEvents", { pageSize: 500 });
  const cursors = (body.data as { cursor: string }[]).map(({ cursor }) => cursor);
  // The program may have delivered mail after the restore: the cursors of those events name the cut.
  assert.deepEqual(
    cursors.map((cursor) => cursor.split("-")[0]),
    cursors.map((_, i) => String(i + 1)),
  );
  assert.equal((await again.call("EmailService/ListEvents", { cursor: lost })).body.code, "out_of_range");
  // The DKIM keys are encrypted with the secret: a successful send proves that the backup contains it.
  assert.equal((await again.call("EmailService/SendEmail", email)).body.status, "EMAIL_STATUS_SENT");
  await cutLog(again, restored);

  // A restore that was killed leaves its mark, and the next start cuts the log.
  const cursor = await latestCursor(again);
  await again.stop();
  await writeFile(join(restored, "restored"), "");
  const third = await start(restored);
  await third.call("EmailService/SendEmail", email);
  assert.notEqual((await latestCursor(third)).split("-")[1], cursor.split("-")[1]);
  await assert.rejects(stat(join(restored, "restored")), { code: "ENOENT" });
});

/** posthorn log cut, for a database that was restored by other means. */
async function cutLog(program: RunningProgram, dataDir: string): Promise<void> {
  const before = await latestCursor(program);
  const done = await runCommand(["log", "cut"], { dataDir, env });
  assert.equal(done.code, 0, done.stderr);
  assert.match(done.stdout, /^2 event logs were cut at the newest event\./);
  const { body } = await program.call("EmailService/SendEmail", email);
  assert.equal(body.status, "EMAIL_STATUS_SENT");
  const after = await latestCursor(program);
  assert.notEqual(after.split("-")[1], before.split("-")[1]);
  // Both logs share the event at the cut, so its reader continues.
  const { body: page } = await program.call("EmailService/ListEvents", { cursor: before });
  assert.equal((page.data as { cursor: string }[]).at(-1)?.cursor, after);
  const ahead = await program.call("EmailService/ListEvents", {
    cursor: after.replace(/-.*/, `-${before.split("-")[1]}`),
  });
  assert.equal(ahead.body.code, "out_of_range");
}

async function latestCursor(program: RunningProgram): Promise<string> {
  const { body } = await program.call("EmailService/ListEvents", { cursor: "latest" });
  return body.nextCursor as string;
}

test("a folder that is not a backup is not restored, and an external database is not backed up", async (t) => {
  const dataDir = await newDataDir();
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const full = join(dataDir, "full");
  await mkdir(full);
  await writeFile(join(full, "file"), "");
  const none = await runCommand(["restore", full], { dataDir: join(dataDir, "other"), env });
  assert.equal(none.code, 2);
  assert.match(none.stderr, /not a complete backup/);
  const external = await runCommand(["backup", "x"], {
    dataDir,
    env: { ...env, DATABASE_URL: "postgres://localhost/x" },
  });
  assert.equal(external.code, 2);
  assert.match(external.stderr, /pg_dump/);
});

/** On a terminal, where there is one: it shows the progress. */
async function restoreShown(copy: string, dataDir: string) {
  if (withoutTerminal) {
    const { code, stdout, stderr } = await runCommand(["restore", copy], { dataDir, env });
    return { code, output: stdout + stderr };
  }
  const started = await startInTerminal(`${process.execPath} ${bin} restore ${copy}`, { dataDir, env });
  return { code: await started.ended, output: started.output() };
}
