import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { foreignFiles } from "../../scripts/foreign-files.ts";
import { always, type ForeignName, foreign, missingIn } from "./foreign.ts";

const table = fileURLToPath(new URL("./foreign.ts", import.meta.url));

/** Runs code in a separate process whose PATH is a folder with only these executables. */
function inFolder(t: { after(fn: () => void): void }, programs: Record<string, string>, code: string, env = {}) {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-foreign-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, script] of Object.entries(programs)) writeFileSync(join(folder, name), script, { mode: 0o755 });
  const source = `import { needs, locate } from ${JSON.stringify(table)}; ${code}`;
  return spawnSync(process.execPath, ["--input-type=module", "-e", source], {
    encoding: "utf8",
    env: { PATH: folder, TEST_PATH_ONLY: "1", ...env },
  });
}

test("the skip reason for a missing program names the program and its package", (t) => {
  const { stdout } = inFolder(t, {}, 'console.log(needs("curl", "named"))');
  assert.deepEqual(missingIn(stdout), [
    { program: "curl", install: "apt-get install curl" },
    { program: "named", install: "apt-get install bind9" },
  ]);
  assert.deepEqual(missingIn("Linux only"), []);
});

test("a program in PATH is found and a missing one is not", (t) => {
  const { stdout } = inFolder(t, { curl: "#!/bin/sh\n" }, 'console.log(needs("curl"), locate("dig") === undefined)');
  assert.equal(stdout, "false true\n");
});

test("a Python without the module counts as missing", (t) => {
  const python3 = '#!/bin/sh\ncase "$2" in *grpc*) exit 1;; esac\n';
  const { stdout } = inFolder(t, { python3 }, 'console.log(needs("python3-dkim"), Boolean(needs("python3-grpcio")))');
  assert.equal(stdout, "false true\n");
});

test("a compiler without the headers of the C library counts as missing", (t) => {
  const { stdout } = inFolder(t, { gcc: "#!/bin/sh\nexit 1\n" }, 'console.log(needs("gcc"))');
  assert.deepEqual(missingIn(stdout), [{ program: "gcc", install: "apt-get install gcc libc6-dev" }]);
});

test("with TEST_REQUIRE_FOREIGN a missing program fails the test unless it is optional", (t) => {
  const { status, stderr } = inFolder(t, {}, 'needs("curl")', { TEST_REQUIRE_FOREIGN: "1" });
  assert.notEqual(status, 0);
  assert.match(stderr, /TEST_REQUIRE_FOREIGN is set, and this test needs curl \(apt-get install curl\)/);
  const optional = inFolder(t, {}, 'console.log(needs("systemd-analyze"))', { TEST_REQUIRE_FOREIGN: "1" });
  assert.match(optional.stdout, /^needs systemd-analyze/);
});

test("every program that a test starts is declared, or is on every machine", () => {
  const files = ["src", "scripts", "test", "sdk/src", "sdk/test", "web/src", "bench"]
    .flatMap((folder) => globSync(`${folder}/**/*.ts`))
    .filter(
      (file) => !/node_modules|^test\/output/.test(file) && (file.startsWith("test/") || file.endsWith(".test.ts")),
    );
  const usingForeign = new Set(foreignFiles(files));
  const commands = new Set((Object.keys(foreign) as ForeignName[]).map((name) => foreign[name].command as string));
  const undeclared: string[] = [];
  for (const file of files) {
    const starts = /\b(?:spawn|spawnSync|execFile|execFileSync|runPeer|promisify\(execFile\))\(\s*"([^"]+)"/g;
    for (const [, program] of readFileSync(file, "utf8").matchAll(starts)) {
      const name = program!.replace(/^\/bin\//, "");
      if (!always.includes(name) && !(commands.has(name) && usingForeign.has(file)))
        undeclared.push(`${file}: ${name}`);
    }
  }
  assert.deepEqual(undeclared, [], "declare them in test/harness/foreign.ts");
});
