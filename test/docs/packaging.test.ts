/** The Dockerfile and the systemd unit match the checkout: the copied files exist, and all imported packages are installed. */
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { builtinModules } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { needs, pathOf } from "../harness/foreign.ts";
import { root } from "../harness/pages.ts";

const read = (path: string) => readFileSync(join(root, path), "utf8");

test("an install without dev dependencies has all packages that the server imports", () => {
  const { dependencies } = JSON.parse(read("package.json")) as { dependencies: Record<string, string> };
  const files = globSync("src/**/*.ts", { cwd: root }).filter((path) => !path.endsWith(".test.ts"));
  const missing = new Set<string>();
  for (const path of files) {
    for (const [, name] of read(path).matchAll(/^(?:import|export)[^;]*?from "([^."][^"]*)";/gms)) {
      if (name!.startsWith("node:") || builtinModules.includes(name!)) continue;
      const packageName = name!
        .split("/")
        .slice(0, name!.startsWith("@") ? 2 : 1)
        .join("/");
      if (!(packageName in dependencies)) missing.add(`${packageName} in ${path}`);
    }
  }
  assert.deepEqual([...missing], []);
});

test("the Dockerfile copies existing files, and all that the server needs", () => {
  const copies = [...read("Dockerfile").matchAll(/^COPY (?!--from)(.+)$/gm)].flatMap(([, words]) =>
    words!.split(" ").slice(0, -1),
  );
  for (const path of copies) assert.ok(existsSync(join(root, path)), path);
  for (const path of ["bin", "src", "docs/openapi.json", "package.json", "package-lock.json", "deploy/healthcheck.js"])
    assert.ok(copies.includes(path), `${path} is not in the image`);
  assert.ok(!copies.includes("."), "every copied path is named");
});

test("the Dockerfile installs packages before it copies sources, from a base image that can be pinned", () => {
  const text = read("Dockerfile");
  assert.match(text, /^ARG NODE_IMAGE=node:24-\S+$/m);
  const stages = text.split(/^FROM /m).slice(1);
  assert.equal(stages.length, 2);
  for (const stage of stages) {
    assert.match(stage, /^\$\{NODE_IMAGE\}/);
    const before = stage.slice(0, stage.indexOf("RUN npm ci"));
    const copied = [...before.matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, words]) => words!.split(" "));
    for (const path of copied) assert.match(path, /package(-lock)?\.json$|^scripts\/build\.js$/, "only manifests");
    assert.ok(copied.length > 0);
  }
  assert.match(stages[1]!, /^USER node$/m);
});

test("the image's health check uses the operations port of the node, at any address", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "posthorn-health-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const [, words] = /^HEALTHCHECK .* CMD (\[.+\])$/m.exec(read("Dockerfile"))!;
  const [program, ...args] = JSON.parse(words!) as string[];
  assert.equal(program, "node");
  let status = 200;
  const requestedPaths: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    requestedPaths.push(request.url);
    response.writeHead(status).end();
  }).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const exitCode = async (ports: object | undefined, env: Record<string, string> = {}) => {
    if (ports) writeFileSync(join(directory, "ports.json"), JSON.stringify(ports));
    const child = spawn(process.execPath, args, {
      cwd: root,
      env: { ...process.env, POSTHORN_DATA_DIR: directory, ...env },
      stdio: "ignore",
    });
    return (await once(child, "exit"))[0] as number;
  };
  assert.equal(await exitCode(undefined), 1, "not started yet");
  const ports = { pid: process.pid, ops: port };
  assert.equal(await exitCode(ports), 0);
  assert.deepEqual(requestedPaths, ["/readyz"]);
  for (const POSTHORN_OPS of ["0.0.0.0:8826", "127.0.0.1:0", "localhost:8826", ""])
    assert.equal(await exitCode(ports, { POSTHORN_OPS }), 0, POSTHORN_OPS);
  status = 503;
  assert.equal(await exitCode(ports), 1, "not ready");
  assert.equal(await exitCode({ pid: process.pid, ops: 1 }), 1, "gone");
});

test("systemd rates the unit's exposure below 2.5", { skip: needs("systemd-analyze") }, () => {
  const directory = mkdtempSync(join(tmpdir(), "posthorn-unit-"));
  try {
    const path = join(directory, "posthorn.service");
    writeFileSync(path, read("deploy/posthorn.service"));
    // The threshold is in tenths: 2.5 of 10. What remains comes from network access, a port below 1024 and V8's compiler.
    const args = ["security", "--offline=true", "--threshold=25", "--no-pager", path];
    const { status, stdout, stderr } = spawnSync(pathOf("systemd-analyze"), args, { encoding: "utf8" });
    // Releases before 250 cannot analyze a file.
    if (/unrecognized option|Unknown option/.test(stderr)) return;
    assert.equal(status, 0, stdout.split("\n").slice(-4).join("\n") + stderr);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("systemd accepts the unit without warnings", { skip: needs("systemd-analyze") }, () => {
  const directory = mkdtempSync(join(tmpdir(), "posthorn-unit-"));
  try {
    const unit = read("deploy/posthorn.service");
    assert.match(unit, /^KillMode=mixed$/m);
    // Only the program under /opt does not exist on this machine.
    const path = join(directory, "posthorn.service");
    writeFileSync(
      path,
      unit.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`).replace(/^(User|Group)=.*\n/gm, ""),
    );
    const output = execFileSync(pathOf("systemd-analyze"), ["verify", path], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
    assert.equal(output, "");
  } finally {
    rmSync(directory, { recursive: true });
  }
});
