import assert from "node:assert/strict";
import { closeSync, readFileSync, statSync, writeSync } from "node:fs";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { newDirectory, until } from "../../../test/harness/embedded.ts";
import { createServerLog } from "./log.ts";

describe("the server's log", () => {
  it("is truncated while a server has it open, and the old lines are kept in a second file", async (t) => {
    const place = await newDirectory(t);
    const log = createServerLog(place, 5);
    t.after(() => log.close());
    const file = log.open();
    t.after(() => closeSync(file));
    writeSync(file, Buffer.alloc(9 * 2 ** 20, "x"));
    const path = join(place, "postgres.log");
    // The interval is unreferenced, so this wait keeps the process running.
    await until(() => statSync(path).size === 0, "the log was truncated");
    writeSync(file, "after\n");
    assert.equal(readFileSync(path, "utf8"), "after\n");
    assert.equal(statSync(`${path}.1`).size, 9 * 2 ** 20);
  });

  it("returns the text written since a mark", async (t) => {
    const log = createServerLog(await newDirectory(t));
    t.after(() => log.close());
    const file = log.open();
    writeSync(file, "before\n");
    const mark = log.mark();
    writeSync(file, "FATAL: this\n");
    closeSync(file);
    assert.equal(log.since(mark), "FATAL: this\n");
  });

  it("does not follow a link in its place", async (t) => {
    const place = await newDirectory(t);
    await writeFile(join(place, "precious"), "untouched");
    await symlink("precious", join(place, "postgres.log"));
    const log = createServerLog(place);
    t.after(() => log.close());
    assert.throws(() => log.open(), { code: "ELOOP" });
  });
});
