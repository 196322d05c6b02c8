/** The program in a terminal: Ctrl-C, and output that only a terminal gets. */
import assert from "node:assert/strict";
import { chmod, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createTestDatabase } from "../harness/database.ts";
import { holdAnswer, recipientOf, stoppedWithDatabase } from "../harness/held-answer.ts";
import { firstLink, tokenIn } from "../harness/people.ts";
import { newDataDir } from "../harness/program.ts";
import { bin, olderNode, withoutOlderNode } from "../harness/started.ts";
import { ctrlC, withoutTerminal as skip, startInTerminal } from "../harness/terminal.ts";
import { startTestbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

for (const { name, command, without } of [
  { name: "npm start", command: "npm start", without: false },
  { name: "an older Node", command: `${olderNode} ${bin} start`, without: withoutOlderNode },
])
  test(`Ctrl-C on ${name}, while the receiver's reply is outstanding, drains and exits with 0`, {
    skip: skip || without,
  }, async (t) => {
    const testbed = await startTestbed({ env: { POSTHORN_DRAIN_MS: "300000" } });
    t.after(testbed.stop);
    await testbed.program.stop();
    const started = await startInTerminal(command, { databaseUrl: testbed.database.url, env: testbed.nodeEnv });
    t.after(started.remove);
    await holdAnswer(testbed, started, "waiting@there.test");
    started.child.stdin!.write(ctrlC);
    assert.equal(await started.ended, 0, started.output());
    assert.match(started.output(), /stopped/);
    const delivered = { status: "delivered", attempts: 1, in_doubt: false };
    assert.deepEqual(await recipientOf(testbed, "waiting@there.test"), delivered);
    assert.equal(testbed.sink.received("waiting@there.test").length, 1);
  });

test("Ctrl-C stops the database after the program", { skip }, async (t) => {
  const started = await startInTerminal("npm start");
  t.after(started.remove);
  await started.ports();
  started.child.stdin!.write(ctrlC);
  await stoppedWithDatabase(started);
});

test("the first key and the sign-up link are shown once", { skip }, async (t) => {
  const database = await createTestDatabase({ example: true });
  t.after(database.drop);
  const dataDir = await newDataDir();
  await chmod(dataDir, 0o750);
  const options = { databaseUrl: database.url, dataDir };
  const started = await startInTerminal(`${process.execPath} ${bin} start`, options);
  t.after(started.remove);
  await started.ports();
  const key = (await readFile(join(started.dataDir, "first-key"), "utf8")).trim();
  const link = await firstLink(started);
  assert.equal((await stat(started.dataDir)).mode & 0o777, 0o750, "an existing directory keeps its mode");
  await until("the welcome", () => started.output().includes("ListEvents"));
  assert.ok(started.output().includes(key), started.output());
  assert.ok(started.output().includes(link), started.output());
  started.child.stdin!.write(ctrlC);
  assert.equal(await started.ended, 0, started.output());
  const again = await startInTerminal(`${process.execPath} ${bin} start`, options);
  t.after(again.remove);
  await again.ports();
  await until("the welcome", () => again.output().includes("ListEvents"));
  assert.ok(!again.output().includes(key), again.output());
  // The port changes; the token stays the same until it is used.
  assert.ok(again.output().includes(`#token=${tokenIn(link)}`), again.output());
});
