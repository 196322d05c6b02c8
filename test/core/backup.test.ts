/** posthorn backup while mail is being sent, and restore into another place: nothing that was answered before it is missing. */
import assert from "node:assert/strict";
import { mkdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { newDataDir, type RunningProgram, runCommand, startProgram } from "../harness/program.ts";
import { until } from "../harness/wait.ts";

/** The program makes a secret of its own, which has to travel with the copy. */
const env = { POSTHORN_SECRET: "" };
const letter = { from: "a@example.test", to: ["b@example.test"], subject: "Hello", body: "x".repeat(2000) };

test("a copy made under load opens elsewhere with every email that was answered before", async (t) => {
  const place = await newDataDir();
  const [dataDir, copy, restored] = ["data", "copy", "restored"].map((name) => join(place, name)) as [
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
    await rm(place, { recursive: true, force: true });
  });
  const program = await start(dataDir);
  const answered: string[] = [];
  const senders = Array.from({ length: 2 }, async () => {
    for (; sending; await delay(100))
      answered.push((await program.call("EmailService/SendEmail", letter)).body.id as string);
  });
  // Looked at below; a test that fails before then has already said why.
  for (const sender of senders) sender.catch(() => {});
  await until("some emails", () => answered.length > 20);
  const before = [...answered];
  const done = await runCommand(["backup", copy, "--json"], { dataDir, env });
  assert.deepEqual([done.code, done.stderr], [0, ""]);
  sending = false;
  await Promise.all(senders);
  assert.ok(answered.length > before.length, "nothing was sent while the copy was made");
  assert.equal((await stat(copy)).mode & 0o777, 0o700);
  const onto = await runCommand(["backup", place], { dataDir, env });
  assert.equal(onto.code, 2);
  assert.match(onto.stderr, /not empty/, "never over anything that is there");
  await program.stop();

  const back = await runCommand(["restore", copy], { dataDir: restored, env });
  assert.equal(back.code, 0, back.stderr);
  assert.match(back.stdout, /1 workspaces, 1 domains, \d+ emails/);
  const again = await start(restored);
  assert.equal(again.key, program.key);
  for (const id of before) assert.equal((await again.call("EmailService/GetEmail", { id })).status, 200, id);
  const { body } = await again.call("EmailService/ListEvents", { pageSize: 500 });
  const cursors = (body.data as { cursor: string }[]).map(({ cursor }) => cursor);
  assert.deepEqual(
    cursors,
    cursors.map((_, i) => String(i + 1)),
  );
  // The DKIM keys are sealed with the secret: a send proves that it came along.
  assert.equal((await again.call("EmailService/SendEmail", letter)).body.status, "EMAIL_STATUS_SENT");
});

test("what is no back-up is not restored, and what is not ours is not backed up", async (t) => {
  const dataDir = await newDataDir();
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const full = join(dataDir, "full");
  await mkdir(full);
  await writeFile(join(full, "letter"), "");
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
