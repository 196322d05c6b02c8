import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import {
  findSecrets,
  readPorts,
  readSecrets,
  replaceSecretFile,
  runningPorts,
  type SecretPair,
  writePorts,
  writePrivate,
} from "./files.ts";

const readSecret = async (dataDir: string) =>
  (await readSecrets({ secret: undefined, secretPrevious: undefined, dataDir })).secret;

async function newFolder(t: { after(work: () => Promise<void>): void }): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "posthorn-files-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

test("a private file is replaced atomically and readable by its owner only, in a directory closed to others", async (t) => {
  const folder = await newFolder(t);
  const path = join(folder, "data", "secret");
  await writePrivate(path, "first");
  await writePrivate(path, "second");
  assert.equal(await readFile(path, "utf8"), "second");
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.equal((await stat(join(folder, "data"))).mode & 0o777, 0o700);
});

test("a private file that cannot be written leaves no temporary file", async (t) => {
  const folder = await newFolder(t);
  await mkdir(join(folder, "secret", "full"), { recursive: true });
  await assert.rejects(writePrivate(join(folder, "secret"), "text"));
  assert.deepEqual(await readdir(folder), ["secret"]);
});

test("ports are reported only for a running process on the same directory", async (t) => {
  const folder = await newFolder(t);
  assert.equal(await runningPorts(folder), undefined);
  const ports = { pid: process.pid, http: 8825 };
  await writePorts(folder, ports);
  assert.deepEqual(await runningPorts(folder), ports);

  const copy = await newFolder(t);
  await copyFile(join(folder, "ports.json"), join(copy, "ports.json"));
  assert.equal(await readPorts(copy), undefined, "a copied data directory");

  const moved = join(copy, "moved");
  await rename(folder, moved);
  assert.deepEqual(await runningPorts(moved), ports, "a moved data directory");
});

test("ports of an ended process, of a reused process id, and of a torn file do not count as running", async (t) => {
  const folder = await newFolder(t);
  await writePorts(folder, { pid: 2 ** 22 + 1, http: 8825 });
  assert.equal(await runningPorts(folder), undefined);
  assert.equal((await readPorts(folder))?.ports.http, 8825, "the last known ports");
  await writeFile(join(folder, "ports.json"), JSON.stringify({ pid: process.pid, start: "1", http: 1 }));
  assert.equal(await runningPorts(folder), undefined);
  await writeFile(join(folder, "ports.json"), JSON.stringify({ pid: process.pid, http: 1 }));
  assert.equal((await runningPorts(folder))?.http, 1, "the format of an older release");
  await writeFile(join(folder, "ports.json"), '{"pid":');
  assert.equal(await runningPorts(folder), undefined);
});

test("a private file is never written through an existing temporary file or link", async (t) => {
  const folder = await newFolder(t);
  const target = join(await newFolder(t), "target");
  await writeFile(target, "untouched", { mode: 0o644 });
  await symlink(target, join(folder, "key"));
  await symlink(target, join(folder, `key.${process.pid}.tmp`));
  await writePrivate(join(folder, "key"), "secret");
  assert.equal(await readFile(target, "utf8"), "untouched");
  assert.equal(await readFile(join(folder, "key"), "utf8"), "secret");
  assert.equal((await stat(join(folder, "key"))).mode & 0o777, 0o600);
  assert.deepEqual(await readdir(folder), ["key"]);
});

test("concurrent processes and calls on a new data directory share one secret", async (t) => {
  const folder = await newFolder(t);
  const source = `
    import { readSecrets } from ${JSON.stringify(new URL("./files.ts", import.meta.url).href)};
    const options = { dataDir: process.argv[1] };
    const readSecret = async () => (await readSecrets(options)).secret;
    console.log(JSON.stringify(await Promise.all([readSecret(), readSecret()])));`;
  for (let round = 0; round < 3; round++) {
    const dataDir = join(folder, `data-${round}`);
    const inProcess = async () =>
      JSON.parse((await promisify(execFile)(process.execPath, ["--input-type=module", "-e", source, dataDir])).stdout);
    const found: string[] = (await Promise.all([inProcess(), inProcess(), inProcess(), inProcess()])).flat();
    const here = Array.from({ length: 8 }, () => readSecret(dataDir));
    assert.deepEqual(
      [...new Set([...found, ...(await Promise.all(here))])],
      [(await readFile(join(dataDir, "secret"), "utf8")).trim()],
    );
    assert.match(found[0]!, /^[0-9a-f]{64}$/);
    assert.deepEqual(await readdir(dataDir), ["secret"]);
    assert.equal((await stat(join(dataDir, "secret"))).mode & 0o777, 0o600);
  }
  const dataDir = join(folder, "calls");
  const calls = await Promise.all(Array.from({ length: 20 }, () => readSecret(dataDir)));
  assert.equal(new Set(calls).size, 1);
});

test("a new secret keeps the present one as the previous one, at every moment", async (t) => {
  const dataDir = await newFolder(t);
  const config = { secret: undefined, secretPrevious: undefined, dataDir };
  const first = await readSecrets(config);
  assert.equal(first.previous, undefined);
  let replacing = true;
  const seen = (async () => {
    const pairs: SecretPair[] = [];
    while (replacing) pairs.push((await findSecrets(config))!);
    return pairs;
  })();
  const second = await replaceSecretFile(dataDir);
  replacing = false;
  assert.match(second.secret, /^[0-9a-f]{64}$/);
  assert.deepEqual(second, { secret: second.secret, previous: first.secret });
  assert.deepEqual(await readSecrets(config), second);
  for (const { secret, previous } of await seen) assert.ok([secret, previous].includes(first.secret));
  for (const name of ["secret", "secret.previous"]) assert.equal((await stat(join(dataDir, name))).mode & 0o777, 0o600);
  // Killed between the two files: the secret and its copy.
  await writeFile(join(dataDir, "secret.previous"), await readFile(join(dataDir, "secret")));
  const third = await replaceSecretFile(dataDir);
  assert.equal(third.previous, second.secret);
});

test("settings take precedence over the files, and no secret is generated where none is asked for", async (t) => {
  const dataDir = await newFolder(t);
  assert.equal(await findSecrets({ secret: undefined, secretPrevious: undefined, dataDir }), undefined);
  assert.deepEqual(await readSecrets({ secret: "a", secretPrevious: "b", dataDir }), { secret: "a", previous: "b" });
  assert.deepEqual(await readdir(dataDir), []);
});
