/** posthorn profiles: the file, its mode and its mistakes, and which instance a command acts at. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmod, mkdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { type CommandBed, startCommandBed } from "../harness/commands.ts";
import { freePort } from "../harness/free-port.ts";
import { programEnv, runCommand } from "../harness/program.ts";
import { bin } from "../harness/started.ts";

let bed: CommandBed | undefined;
let { program } = {} as CommandBed;
let config: string;
let file: string;

before(async () => {
  bed = await startCommandBed();
  ({ program } = bed);
  config = join(bed.folder, "config");
  file = join(config, "posthorn", "profiles.json");
});
after(async () => await bed?.stop());
beforeEach(async () => await rm(config, { recursive: true, force: true }));

const options = (env: Record<string, string> = {}) => ({
  dataDir: join(bed!.folder, "nothing-here"),
  env: { XDG_CONFIG_HOME: config, ...env },
});
const posthorn = (args: string[], env: Record<string, string> = {}) => runCommand(args, options(env));

async function succeed(args: string[], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await posthorn(args, env);
  assert.equal(code, 0, `${args.join(" ")}: ${stderr}`);
  return stdout;
}

const add = (name: string, extra: string[] = []) =>
  succeed(["profiles", "add", name, program.url, ...extra], { POSTHORN_KEY: program.key });

test("a profile is stored for its owner only, listed without its key, used and removed", async () => {
  assert.match(await succeed(["profiles", "list"]), /^No profiles yet/);
  await add("production");
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal((await stat(dirname(file))).mode & 0o777, 0o700);
  const listed = await succeed(["profiles", "list"]);
  assert.match(listed, /^production {2}http:\/\/127\.0\.0\.1:\d+ {2}ph_\w{8}…$/m);
  assert.ok(!listed.includes(program.key));
  const row = JSON.parse(await succeed(["profiles", "list", "--json"]));
  assert.deepEqual(row, { name: "production", url: program.url, keyPrefix: program.key.slice(0, 11), inUse: false });

  await succeed(["domains", "list", "--profile", "production"]);
  await succeed(["domains", "list"], { POSTHORN_PROFILE: "production" });
  assert.match(await succeed(["profiles", "use", "production"]), /^Commands act at http/);
  assert.match(await succeed(["domains", "list"]), /example\.test/);
  assert.equal(JSON.parse(await succeed(["profiles", "list", "--json"])).inUse, true);
  await succeed(["profiles", "use", "local"]);
  assert.equal(JSON.parse(await succeed(["profiles", "list", "--json"])).inUse, false);

  await succeed(["profiles", "use", "production"]);
  assert.equal((await posthorn(["profiles", "remove", "production"])).code, 2, "without --yes");
  await succeed(["profiles", "remove", "production", "--yes"]);
  assert.deepEqual(JSON.parse(await readFile(file, "utf8")), { profiles: {} });
});

test("options win over the environment, and the environment over the profile in use", async () => {
  await add("good");
  const dead = `http://127.0.0.1:${await freePort()}`;
  await succeed(["profiles", "add", "dead", dead, "--no-check"], { POSTHORN_KEY: "ph_dead" });
  await succeed(["profiles", "use", "dead"]);
  const list = ["domains", "list"];
  const isDead = async (args: string[], env: Record<string, string> = {}) => {
    const { code, stderr } = await posthorn(args, env);
    assert.deepEqual([code, stderr.includes(`${dead} does not answer`)], [1, true], stderr);
  };
  await isDead(list);
  await succeed(list, { POSTHORN_PROFILE: "good" });
  await succeed([...list, "--profile", "good"], { POSTHORN_PROFILE: "dead" });
  await succeed([...list, "--profile", "good"], { POSTHORN_URL: dead, POSTHORN_KEY: "ph_dead" });
  await isDead([...list, "--url", dead], { POSTHORN_PROFILE: "good", POSTHORN_KEY: "ph_dead" });
  await succeed(list, { POSTHORN_URL: program.url, POSTHORN_KEY: program.key });
  const both = await posthorn(list, { POSTHORN_URL: dead, POSTHORN_PROFILE: "good" });
  assert.equal(both.code, 2);
  assert.match(both.stderr, /both set\. Unset one/);
  // On the local store, although a profile is in use.
  const local = { dataDir: program.dataDir, databaseUrl: bed!.database.url, env: { XDG_CONFIG_HOME: config } };
  assert.equal((await runCommand([...list, "--profile", "local"], local)).code, 0);
  assert.equal((await runCommand([...list, "--workspace", "default", "--profile", "local"], local)).code, 0);
  const workspace = await runCommand([...list, "--workspace", "default"], local);
  assert.deepEqual([workspace.code, /For the local one: --profile local/.test(workspace.stderr)], [2, true]);
  // A command that only works locally says so.
  const people = await runCommand(["people", "list"], local);
  assert.equal(people.code, 0);
  assert.match(people.stderr, /acts on the local data directory, not at the profile dead/);
});

test("a file that others can read, or that is broken, is refused with the fix", async () => {
  await add("production");
  await chmod(file, 0o640);
  const list = ["emails", "list", "--profile", "production"];
  for (const args of [list, ["profiles", "list"], ["profiles", "use", "local"]]) {
    const open = await posthorn(args);
    assert.equal(open.code, 2);
    assert.ok(open.stderr.includes(`(mode 640). Run: chmod 600 ${file}`), open.stderr);
  }
  await chmod(file, 0o600);
  await succeed(list);
  for (const [text, words] of [
    ["{ph_secret", /is not a file of profiles: it is not JSON/],
    ["[]", /no object `profiles`/],
    ["null", /no object `profiles`/],
    ['{"profiles":{"a":{"url":"x"}}}', /"a" needs a `url` and a `key`/],
    ['{"profiles":{"a":null}}', /"a" needs a `url` and a `key`/],
    ['{"current":3,"profiles":{}}', /`current` must be/],
    ['{"current":"gone","profiles":{}}', /There is no profile "gone"\. There are no profiles yet/],
    ['{"current":"__proto__","profiles":{}}', /There is no profile "__proto__"/],
  ] as const) {
    await writeFile(file, text, { mode: 0o600 });
    const { code, stderr } = await posthorn(["emails", "list"]);
    assert.equal(code, 2, text);
    assert.match(stderr, words);
    assert.ok(!stderr.includes("ph_secret"), "a broken file is not quoted");
  }
  // The named local data directory needs no profiles.
  const local = { dataDir: program.dataDir, databaseUrl: bed!.database.url, env: { XDG_CONFIG_HOME: config } };
  assert.equal((await runCommand(["emails", "list", "--profile", "local"], local)).code, 0);
});

test("names, URLs and keys are checked before anything is stored", async () => {
  const key = { POSTHORN_KEY: program.key };
  for (const [args, words, env] of [
    [["local", program.url], /stands for the local data directory/, key],
    [["a b", program.url], /is not a name for a profile/, key],
    [["__proto__", program.url], /is not a name for a profile/, key],
    [["x"], /Give a name and the URL/, key],
    [["x", "ftp://a.test"], /is not a URL such as/, key],
    [["x", program.url], /contains spaces/, { POSTHORN_KEY: "a b" }],
    [["x", program.url], /No key was given/, {}],
  ] as [string[], RegExp, Record<string, string>][]) {
    const { code, stderr } = await posthorn(["profiles", "add", ...args], env);
    assert.equal(code, 2, `${args.join(" ")}: ${stderr}`);
    assert.match(stderr, words);
  }
  const refused = await posthorn(["profiles", "add", "x", program.url], { POSTHORN_KEY: "ph_wrong" });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /unauthenticated: .*Nothing was stored\. To store it anyway: --no-check/);
  assert.match(await succeed(["profiles", "list"]), /^No profiles yet/);

  await add("production");
  const second = await posthorn(["profiles", "add", "production", program.url], key);
  assert.deepEqual([second.code, /--replace/.test(second.stderr)], [2, true]);
  await add("production", ["--replace"]);
});

test("the key is read from standard input, and never from the arguments", async () => {
  const env = programEnv(options().dataDir, options());
  const child = spawn(process.execPath, [bin, "profiles", "add", "piped", program.url], { env });
  child.stdin.end(`${program.key}\n`);
  assert.equal(await new Promise((resolve) => child.once("close", resolve)), 0);
  await succeed(["domains", "list", "--profile", "piped"]);
  const flag = await posthorn(["profiles", "add", "x", program.url, "--key", program.key]);
  assert.deepEqual([flag.code, /Unknown option '--key'/.test(flag.stderr)], [2, true]);
});

test("the key in POSTHORN_KEY is not sent to another instance than the one in POSTHORN_URL", async () => {
  const env = { POSTHORN_URL: "https://other.example", POSTHORN_KEY: "ph_other" };
  const without = await posthorn(["profiles", "add", "x", program.url], env);
  assert.equal(without.code, 2);
  assert.match(without.stderr, /No key was given\. .*POSTHORN_KEY belongs to https:\/\/other\.example/);
  const child = spawn(process.execPath, [bin, "profiles", "add", "x", program.url], {
    env: programEnv(options().dataDir, options(env)),
  });
  child.stdin.end(`${program.key}\n`);
  assert.equal(await new Promise((resolve) => child.once("close", resolve)), 0);
  assert.ok((await readFile(file, "utf8")).includes(program.key));
  // The same instance, written differently.
  const same = { POSTHORN_URL: `${program.url}/`, POSTHORN_KEY: program.key };
  await succeed(["profiles", "add", "same", program.url], same);
});

test("the warning about a connection without encryption precedes the key", async () => {
  const { code, stderr } = await posthorn(["profiles", "add", "x", "http://mail.invalid"], { POSTHORN_KEY: "ph_x" });
  assert.equal(code, 1);
  assert.match(stderr, /^http:\/\/mail\.invalid is not encrypted: .*\nhttp:\/\/mail\.invalid does not answer/);
});

test("commands at the same time lose no profile, a stale draft is replaced, and a link stays", async () => {
  const real = join(bed!.folder, "dotfiles.json");
  await mkdir(dirname(file), { recursive: true });
  await writeFile(real, '{"profiles":{}}', { mode: 0o600 });
  await symlink(real, file);
  const names = ["a", "b", "c", "d", "e"];
  await Promise.all(names.map((name) => add(name, ["--no-check"])));
  const stored = JSON.parse(await readFile(real, "utf8")) as { profiles: object };
  assert.deepEqual(Object.keys(stored.profiles).sort(), names);
  assert.equal((await stat(real)).mode & 0o777, 0o600);

  await writeFile(`${real}.new`, "left by a killed command");
  const { utimes } = await import("node:fs/promises");
  await utimes(`${real}.new`, new Date(0), new Date(0));
  await add("f", ["--no-check"]);
  assert.match(await succeed(["profiles", "list"]), /^f /m);
});
