import assert from "node:assert/strict";
import { closeSync, readFileSync, statSync, writeSync } from "node:fs";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createServerLog } from "./embedded-log.ts";
import { newPlace, until } from "./embedded-testing.ts";

describe("the server's log", () => {
  it("stays bounded while a server holds it open, and keeps the lines before the cut", async (t) => {
    const place = await newPlace(t);
    const log = createServerLog(place, 5);
    t.after(() => log.close());
    const file = log.open();
    t.after(() => closeSync(file));
    writeSync(file, Buffer.alloc(9 * 2 ** 20, "x"));
    const path = join(place, "postgres.log");
    // The interval of the bound keeps no process alive, so this waiting does.
    await until(() => statSync(path).size === 0, "the log was cut");
    writeSync(file, "after\n");
    assert.equal(readFileSync(path, "utf8"), "after\n");
    assert.equal(statSync(`${path}.1`).size, 9 * 2 ** 20);
  });

  it("tells what was written since a mark", async (t) => {
    const log = createServerLog(await newPlace(t));
    t.after(() => log.close());
    const file = log.open();
    writeSync(file, "before\n");
    const mark = log.mark();
    writeSync(file, "FATAL: this\n");
    closeSync(file);
    assert.equal(log.since(mark), "FATAL: this\n");
  });

  it("does not follow a link that someone put in its place", async (t) => {
    const place = await newPlace(t);
    await writeFile(join(place, "precious"), "untouched");
    await symlink("precious", join(place, "postgres.log"));
    const log = createServerLog(place);
    t.after(() => log.close());
    assert.throws(() => log.open(), { code: "ELOOP" });
  });
});
