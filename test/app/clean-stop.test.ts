/** Stop signals by every path except a terminal (see terminal.test.ts): the program drains, stops its database last and exits with 0. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { holdAnswer, recipientOf, sendTo, stoppedWithDatabase } from "../harness/held-answer.ts";
import { bin, olderNode, type Started, startAs, withoutOlderNode } from "../harness/started.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

const node24 = process.execPath;

type Case = {
  name: string;
  start: () => Promise<Started>;
  stop: (started: Started) => void;
  skip?: string | false;
};

describe("a stop signal while the receiver's reply is outstanding", () => {
  let testbed: Testbed;
  before(async () => {
    testbed = await startTestbed({ env: { POSTHORN_DRAIN_MS: "300000" } });
    await testbed.program.stop();
  });
  after(async () => await testbed?.stop());

  const options = () => ({ databaseUrl: testbed.database.url, env: testbed.nodeEnv });
  const asGroup = (signal: NodeJS.Signals) => (started: Started) => void process.kill(-started.child.pid!, signal);
  const alone = (signal: NodeJS.Signals) => (started: Started) => void started.child.kill(signal);
  const npm = () => startAs("npm", ["start"], options());
  const byNode24 = () => startAs(node24, [bin, "start"], options());
  const byOlderNode = () => startAs(olderNode!, [bin, "start"], options());
  const cases: Case[] = [
    { name: "SIGTERM to the process group of npm start", start: npm, stop: asGroup("SIGTERM") },
    { name: "SIGINT to the process group of npm start", start: npm, stop: asGroup("SIGINT") },
    { name: "SIGTERM to the main process alone, as systemd's KillMode=mixed", start: byNode24, stop: alone("SIGTERM") },
    {
      name: "SIGTERM to the main process alone under an older Node",
      start: byOlderNode,
      skip: withoutOlderNode,
      stop: alone("SIGTERM"),
    },
    {
      name: "SIGINT to the main process alone under an older Node",
      start: byOlderNode,
      skip: withoutOlderNode,
      stop: alone("SIGINT"),
    },
    {
      name: "SIGTERM to the group of an older Node",
      start: byOlderNode,
      skip: withoutOlderNode,
      stop: asGroup("SIGTERM"),
    },
  ];

  for (const [i, { name, start, stop, skip = false }] of cases.entries()) {
    it(name, { skip }, async (t) => {
      const started = await start();
      t.after(started.remove);
      const address = `waiting-${i}@there.test`;
      await holdAnswer(testbed, started, address);
      stop(started);
      assert.equal(await started.ended, 0, started.output());
      assert.match(started.output(), /stopped/);
      assert.deepEqual(await recipientOf(testbed, address), { status: "delivered", attempts: 1, in_doubt: false });
      assert.equal(testbed.sink.received(address).length, 1);
    });
  }

  for (const { name, start, skip } of [
    { name: "the program itself", start: byNode24, skip: false as const },
    { name: "an older Node's wrapper", start: byOlderNode, skip: withoutOlderNode },
  ]) {
    it(`a second signal to ${name}, after the repeats, ends it at once`, { skip }, async (t) => {
      const started = await start();
      t.after(started.remove);
      testbed.sink.script = ({ verb }) => (verb === "dot" ? "silence" : undefined);
      await sendTo(testbed, started, `stuck-${name.length}@there.test`);
      await testbed.sink.until((sink) =>
        sink.deliveries.some(({ recipients }) => recipients.includes(`stuck-${name.length}@there.test`)),
      );
      started.child.kill("SIGTERM");
      await until("the first signal to arrive", () => started.output().includes("stopping"));
      let code: number | NodeJS.Signals | null | undefined;
      void started.ended.then((how) => (code = how));
      // The drain would last longer than this test, so only a later signal can end the program.
      const endedOrSignaled = () => {
        if (code === undefined) started.child.kill("SIGTERM");
        return code !== undefined;
      };
      await until("the end", endedOrSignaled);
      assert.equal(code, 1, started.output());
      assert.match(started.output(), /A second SIGTERM ended Posthorn at once/);
      assert.doesNotMatch(started.output(), /"stopped"/);
      testbed.sink.hangUp();
    });
  }
});

it("the wrapper under an older Node exits with the code of the signal that ended the command, like a shell", {
  skip: withoutOlderNode,
}, async (t) => {
  // The command waits for its text on standard input.
  const started = await startAs(olderNode!, [bin, "send", "--from", "a@example.test", "b@example.test"]);
  t.after(started.remove);
  const { pid } = started.child;
  await until("the command to run", async () => (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")) !== "");
  started.child.kill("SIGTERM");
  assert.equal(await started.ended, 128 + constants.signals.SIGTERM, started.output());
});

describe("with the embedded database", () => {
  it("SIGTERM to the process group stops the database after the program", async (t) => {
    const started = await startAs("npm", ["start"]);
    t.after(started.remove);
    await started.ports();
    process.kill(-started.child.pid!, "SIGTERM");
    await stoppedWithDatabase(started);
  });

  it("a signal during the first start stops the program once it has started, and the next start works", async (t) => {
    const started = await startAs(node24, [bin, "start"]);
    t.after(started.remove);
    await until("the database to be made", () =>
      readFile(join(started.dataDir, "secret")).catch(() => started.output() !== ""),
    );
    started.child.kill("SIGTERM");
    assert.equal(await started.ended, 0, started.output());
    assert.match(started.output(), /"stopped"/);
    const again = await startAs(node24, [bin, "start"], { dataDir: started.dataDir });
    t.after(again.remove);
    assert.ok((await again.ports()).http > 0, again.output());
    again.child.kill("SIGTERM");
    assert.equal(await again.ended, 0, again.output());
  });
});
