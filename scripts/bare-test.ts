/** npm run test:bare: runs the tests that use foreign programs as on a machine without those programs. PATH is one folder with node, npm,
 * git, a shell and the POSIX utilities. Arguments select tests as in `npm test`. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

/** Utilities that every POSIX system has. curl, Python and OpenSSL are not among them. */
const utilities =
  "sh env cat cp mv rm mkdir mkfifo rmdir ln ls chmod chown touch head tail wc sort uniq cut tr od tee dd date sleep kill id uname " +
  "dirname basename readlink realpath mktemp printf echo true false test expr seq nproc df du stat sed grep xargs find";
const programs = [...utilities.split(" "), "npm", "npx", "git"];

const folder = mkdtempSync(join(tmpdir(), "posthorn-bare-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
for (const name of programs) {
  const path = (process.env.PATH ?? "")
    .split(delimiter)
    .filter((part) => !part.includes("node_modules"))
    .map((part) => join(part, name))
    .find((candidate) => existsSync(candidate));
  if (path !== undefined) symlinkSync(path, join(folder, name));
}
symlinkSync(process.execPath, join(folder, "node"));

const env: NodeJS.ProcessEnv = { ...process.env, PATH: folder, TEST_PATH_ONLY: "1" };
delete env.TEST_REQUIRE_FOREIGN;
const probe = join(folder, "probe.mts");
writeFileSync(
  probe,
  `import { foreign, locate } from ${JSON.stringify(new URL("../test/harness/foreign.ts", import.meta.url).pathname)};
process.stdout.write(Object.keys(foreign).filter((name) => locate(name) !== undefined).join(" "));`,
);
const found = spawnSync(process.execPath, [probe], { env, encoding: "utf8" });
if (found.status !== 0 || found.stdout !== "") {
  process.stderr.write(`The PATH without foreign programs still contains: ${found.stdout}${found.stderr}\n`);
  process.exit(1);
}

const child = spawn(process.execPath, ["scripts/test.ts", "--foreign", ...process.argv.slice(2)], {
  env,
  stdio: "inherit",
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
child.once("exit", (code) => process.exit(code ?? 1));
