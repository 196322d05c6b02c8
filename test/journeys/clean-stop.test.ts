/** One request to stop, by every path on which it arrives but a terminal (see terminal.test.ts): the program drains, ends its database last and exits 0. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { holdAnswer, recipientOf, sendTo, stoppedWithDatabase } from "../harness/held-answer.ts";
import { bin, olderNode, type Started, startAs, withoutOlderNode } from "../harness/started.ts";
import { until } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

const node24 = process.execPath;

type Way = {
  name: string;
  start: () => Promise<Started>;
  stop: (started: Started) => void;
  skip?: string | false;
};

describe("one request to stop, while the receiver's answer is outstanding", () => {
  let world: World;
  before(async () => {
    world = await startWorld({ env: { POSTHORN_DRAIN_MS: "300000" } });
    await world.program.stop();
  });
  after(async () => await world?.stop());

  const options = () => ({ databaseUrl: world.database.url, env: world.nodeEnv });
  const asGroup = (signal: NodeJS.Signals) => (started: Started) => void process.kill(-started.child.pid!, signal);
  const alone = (signal: NodeJS.Signals) => (started: Started) => void started.child.kill(signal);
  const npm = () => startAs("npm", ["start"], options());
  const byNode24 = () => startAs(node24, [bin, "start"], options());
  const byOlderNode = () => startAs(olderNode!, [bin, "start"], options());
  const ways: Way[] = [
    { name: "SIGTERM to the process group of npm start", start: npm, stop: asGroup("SIGTERM") },
    { name: "SIGINT to the process group of npm start", start: npm, stop: asGroup("SIGINT") },
    { name: "SIGTERM to the main process alone, as systemd's KillMode=mixed", start: byNode24, stop: alone("SIGTERM") },
    {
      ...{ name: "SIGTERM to the main process alone under an older Node", start: byOlderNode, skip: withoutOlderNode },
      stop: alone("SIGTERM"),
    },
    {
      ...{ name: "SIGINT to the main process alone under an older Node", start: byOlderNode, skip: withoutOlderNode },
      stop: alone("SIGINT"),
    },
    {
      ...{ name: "SIGTERM to the group of an older Node", start: byOlderNode, skip: withoutOlderNode },
      stop: asGroup("SIGTERM"),
    },
  ];

  for (const [i, { name, start, stop, skip = false }] of ways.entries()) {
    it(name, { skip }, async (t) => {
      const started = await start();
      t.after(started.remove);
      const address = `waiting-${i}@there.test`;
      await holdAnswer(world, started, address);
      stop(started);
      assert.equal(await started.ended, 0, started.output());
      assert.match(started.output(), /stopped/);
      assert.deepEqual(await recipientOf(world, address), { status: "delivered", attempts: 1, in_doubt: false });
      assert.equal(world.sink.received(address).length, 1);
    });
  }

  for (const { name, start, skip } of [
    { name: "the program itself", start: byNode24, skip: false as const },
    { name: "an older Node's wrapper", start: byOlderNode, skip: withoutOlderNode },
  ]) {
    it(`a second signal to ${name}, after the repeats, ends it at once`, { skip }, async (t) => {
      const started = await start();
      t.after(started.remove);
      world.sink.script = ({ verb }) => (verb === "dot" ? "silence" : undefined);
      await sendTo(world, started, `stuck-${name.length}@there.test`);
      await world.sink.until((sink) =>
        sink.deliveries.some(({ recipients }) => recipients.includes(`stuck-${name.length}@there.test`)),
      );
      started.child.kill("SIGTERM");
      await until("the first signal to arrive", () => started.output().includes("stopping"));
      let code: number | NodeJS.Signals | null | undefined;
      void started.ended.then((how) => (code = how));
      // The drain would last for longer than this test: it is a later signal that ends the program.
      const endedOrSignalled = () => {
        if (code === undefined) started.child.kill("SIGTERM");
        return code !== undefined;
      };
      await until("the end", endedOrSignalled);
      assert.equal(code, 1, started.output());
      assert.match(started.output(), /A second SIGTERM ended Posthorn at once/);
      assert.doesNotMatch(started.output(), /"stopped"/);
      world.sink.hangUp();
    });
  }
});

it("an older Node's wrapper ends with the signal that ended a command, as a shell reports it", {
  skip: withoutOlderNode,
}, async (t) => {
  // Waits for its text on standard input.
  const started = await startAs(olderNode!, [bin, "send", "--from", "a@example.test", "b@example.test"]);
  t.after(started.remove);
  const { pid } = started.child;
  await until("the command to run", async () => (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")) !== "");
  started.child.kill("SIGTERM");
  assert.equal(await started.ended, 128 + constants.signals.SIGTERM, started.output());
});

describe("with the database that the program runs itself", () => {
  it("SIGTERM to the process group stops the database after the program", async (t) => {
    const started = await startAs("npm", ["start"]);
    t.after(started.remove);
    await started.ports();
    process.kill(-started.child.pid!, "SIGTERM");
    await stoppedWithDatabase(started);
  });

  it("a signal during the first start stops it as soon as it is complete, and the next start works", async (t) => {
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
