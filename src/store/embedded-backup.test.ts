import assert from "node:assert/strict";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { startEmbedded } from "./embedded.ts";
import { copyEmbedded, placeEmbedded, spaceForCopy } from "./embedded-backup.ts";
import { findHome, socketPath } from "./embedded-home.ts";
import { lockHolder, takeLock } from "./embedded-lock.ts";
import { newPlace, query, recorder, start } from "./embedded-testing.ts";

describe("putting a copy of the database in place", () => {
  let [from, password] = ["", ""];
  let space = 0;
  let bytes = 0;
  const cleanUp: (() => Promise<void>)[] = [];
  before(async () => {
    // A hook that is added inside another one would run after the first test.
    const place = await newPlace({ after: (work) => cleanUp.push(work) });
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
    const home = await findHome(dataDir);
    return { ...home, socket: socketPath(home.socketDir) };
  };

  it("takes no more space than was asked for", () => {
    assert.ok(bytes < space, `${bytes} of ${space}`);
  });

  it("makes a program that starts meanwhile wait, and removes what a killed restore left", async (t) => {
    const dataDir = join(await newPlace(t), "data");
    await mkdir(join(dataDir, "postgres.restoring-1", "base"), { recursive: true });
    let starting: ReturnType<typeof start> | undefined;
    const placeOthers = async () => {
      assert.equal((await lockHolder(await lockOf(dataDir)))?.role, "command");
      starting = start(t, { dataDir });
    };
    await placeEmbedded({ dataDir, from, password, placeOthers });
    assert.equal((await query((await starting!).url, (sql) => sql`select value from kept`)).length, 1);
    assert.deepEqual(
      (await readdir(dataDir)).filter((name) => name.includes("restoring")),
      [],
    );
  });

  it("is refused while a program makes a database there, and where there is one", async (t) => {
    const dataDir = join(await newPlace(t), "data");
    const request = { dataDir, from, password, placeOthers: async () => assert.fail("nothing is placed") };
    const lock = await takeLock({ ...(await lockOf(dataDir)), role: "program" });
    assert.ok("release" in lock);
    await assert.rejects(placeEmbedded(request), { code: "locked" });
    await lock.release();
    await mkdir(join(dataDir, "postgres.restoring-1"));
    await start(t, { dataDir });
    assert.deepEqual(
      (await readdir(dataDir)).filter((name) => name.includes("restoring")),
      [],
    );
    await assert.rejects(placeEmbedded(request), { message: /There is a database in \S+ already/ });
  });
});
