import assert from "node:assert/strict";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { newDirectory, query, recorder, start } from "../../../test/harness/embedded.ts";
import { copyEmbedded, restoreEmbedded, spaceForCopy } from "./backup.ts";
import { startEmbedded } from "./embedded.ts";
import { locateCluster, socketPath } from "./location.ts";
import { lockHolder, takeLock } from "./lock.ts";

describe("restoring a copy of the database", () => {
  let [from, password] = ["", ""];
  let space = 0;
  let bytes = 0;
  const cleanUp: (() => Promise<void>)[] = [];
  before(async () => {
    // A hook added inside another hook would run after the first test.
    const place = await newDirectory({ after: (work) => cleanUp.push(work) });
    const dataDir = join(place, "data");
    const server = await startEmbedded({ dataDir, log: recorder() });
    await query(server.url, (sql) => sql`create table kept as select 1 as value`);
    space = await query(server.url, async (sql) => [{ space: await spaceForCopy(sql) }] as const).then(
      ([found]) => found.space,
    );
    from = join(place, "copy");
    await mkdir(from);
    ({ password, bytes } = await copyEmbedded({ dataDir, log: recorder(), to: from }));
    await server.stop();
  });
  after(async () => {
    for (const work of cleanUp) await work();
  });

  const lockOf = async (dataDir: string) => {
    const location = await locateCluster(dataDir);
    return { ...location, socket: socketPath(location.socketDir) };
  };

  it("takes no more space than spaceForCopy returns", () => {
    assert.ok(bytes < space, `${bytes} of ${space}`);
  });

  it("makes a starting program wait, and removes the files of a killed restore", async (t) => {
    const dataDir = join(await newDirectory(t), "data");
    await mkdir(join(dataDir, "postgres.restoring-1", "base"), { recursive: true });
    let starting: ReturnType<typeof start> | undefined;
    const restoreOtherFiles = async () => {
      assert.equal((await lockHolder(await lockOf(dataDir)))?.role, "command");
      starting = start(t, { dataDir });
    };
    await restoreEmbedded({ dataDir, from, password, restoreOtherFiles });
    assert.equal((await query((await starting!).url, (sql) => sql`select value from kept`)).length, 1);
    assert.deepEqual(
      (await readdir(dataDir)).filter((name) => name.includes("restoring")),
      [],
    );
  });

  it("is refused while a program runs on the data directory, and when it has a database", async (t) => {
    const dataDir = join(await newDirectory(t), "data");
    const request = { dataDir, from, password, restoreOtherFiles: async () => assert.fail("nothing is restored") };
    const lock = await takeLock({ ...(await lockOf(dataDir)), role: "program" });
    assert.ok("release" in lock);
    await assert.rejects(restoreEmbedded(request), { code: "locked" });
    await lock.release();
    await mkdir(join(dataDir, "postgres.restoring-1"));
    await start(t, { dataDir });
    assert.deepEqual(
      (await readdir(dataDir)).filter((name) => name.includes("restoring")),
      [],
    );
    await assert.rejects(restoreEmbedded(request), { message: /There is already a database in \S+\./ });
  });
});
