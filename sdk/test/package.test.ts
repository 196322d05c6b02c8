/** The package as users get it: packed, installed from the tarball without a registry, run on each Node of this machine, type-checked. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Code, ConnectError } from "@connectrpc/connect";
import { EmailService } from "../../src/gen/v1/email_pb.ts";
import { peerKey, startPeer } from "./peer.ts";

const run = promisify(execFile);
const sdk = fileURLToPath(new URL("..", import.meta.url));
const consumer = join(sdk, "test/consumer");
const tsc = join(sdk, "../node_modules/.bin/tsc");
let project: string;

before(async () => {
  project = await mkdtemp(join(tmpdir(), "posthorn-consumer-"));
  await writeFile(join(project, "package.json"), '{ "type": "module", "private": true }');
  const { stdout } = await npm(["pack", "--silent", "--pack-destination", project], sdk);
  const tarball = stdout.trim().split("\n").at(-1)!;
  // An empty cache and no registry: the tarball has to be all that is needed.
  await npm(["install", "--offline", "--cache", join(project, "cache"), `./${tarball}`], project);
});

after(() => rm(project, { recursive: true, force: true }));

async function npm(args: string[], cwd: string) {
  const env = {
    ...process.env,
    npm_config_audit: "false",
    npm_config_fund: "false",
    npm_config_update_notifier: "false",
  };
  return await run("npm", args, { cwd, env });
}

/** This Node, and every other one in PATH that the package promises to run on. */
async function nodes(): Promise<Map<string, string>> {
  const found = new Map([[process.version, process.execPath]]);
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const path = join(folder, "node");
    const version = await run(path, ["--version"]).then(
      ({ stdout }) => stdout.trim(),
      () => "v0",
    );
    if (Number(/^v(\d+)/.exec(version)?.[1]) >= 20 && !found.has(version)) found.set(version, path);
  }
  return found;
}

test("it brings its types and its licence, and no tests", async () => {
  const files = await readdir(join(project, "node_modules/posthorn"), { recursive: true });
  assert.ok(files.includes("dist/index.js") && files.includes("dist/node.d.ts") && files.includes("LICENSE"));
  assert.ok(files.includes("README.md"));
  assert.deepEqual(
    files.filter((name) => /test|src/.test(name)),
    [],
  );
  const manifest = JSON.parse(await readFile(join(project, "node_modules/posthorn/package.json"), "utf8"));
  assert.equal(manifest.dependencies, undefined);
});

test("only the part for Node imports anything of Node's", async () => {
  const dist = join(project, "node_modules/posthorn/dist");
  const names = (await readdir(dist, { recursive: true })).filter((name) => name.endsWith(".js"));
  const imports = new Map<string, string[]>();
  for (const name of names) {
    const text = await readFile(join(dist, name), "utf8");
    const foreign = [...text.matchAll(/^(?:import|export)[^;]* from "([^."][^"]*)"/gm)].map((match) => match[1]!);
    if (foreign.length > 0) imports.set(name, foreign);
  }
  assert.deepEqual([...imports], [["node.js", ["node:fs/promises", "node:path"]]]);
});

test("a program sends, streams over a broken connection, and verifies on each Node", async (t) => {
  await copyFile(join(consumer, "app.mjs"), join(project, "app.mjs"));
  for (const [version, path] of await nodes()) await t.test(version, () => runConsumer(version, path));
});

async function runConsumer(version: string, path: string): Promise<void> {
  await rm(join(project, "place"), { force: true });
  let isFirst = true;
  const peer = await startPeer({
    routes: (router) =>
      router.service(EmailService, {
        sendEmail: ({ attachments }) => ({ id: `em_${atob(attachments[0]!.base64Content)}` }),
        getEmail() {
          throw new ConnectError("no such email", Code.NotFound);
        },
        async *streamEvents({ cursor }) {
          yield { cursor };
          for (let i = 1; i <= 2; i++) yield { cursor: String(Number(cursor) + i), event: { id: "evt_1" } };
          if (!isFirst) return;
          isFirst = false;
          throw new ConnectError("stopping", Code.Unavailable);
        },
      }),
  });
  try {
    const env = { ...process.env, POSTHORN_KEY: peerKey, POSTHORN_URL: peer.url };
    const { stdout } = await run(path, ["app.mjs"], { cwd: project, env });
    assert.deepEqual(JSON.parse(stdout), {
      node: version,
      id: "em_12.00 EUR",
      cursors: ["1", "2", "3", "4"],
      event: "email.delivered",
      refused: "not_found",
    });
    assert.equal(await readFile(join(project, "place"), "utf8"), "3\n");
  } finally {
    await peer.close();
  }
}

test("its types hold for both ways of resolving modules, without any of Node's", async () => {
  await copyFile(join(consumer, "types.ts"), join(project, "types.ts"));
  for (const [module, moduleResolution] of [
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ]) {
    const compilerOptions = {
      ...{ module, moduleResolution, target: "es2022", lib: ["es2022", "dom", "dom.iterable"], types: [] },
      ...{ strict: true, exactOptionalPropertyTypes: true, noEmit: true, skipLibCheck: false },
    };
    await writeFile(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["types.ts"] }));
    const said = await run(tsc, ["-p", project]).catch((error: { stdout: string }) => error);
    assert.equal(said.stdout, "", `${moduleResolution}`);
  }
});
