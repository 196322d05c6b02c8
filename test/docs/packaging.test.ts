/** The files that put Posthorn on a machine fit the checkout: what they copy is there, and what the server imports is installed. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
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

test("an install without tools has all that the server imports", () => {
  const { dependencies } = JSON.parse(read("package.json")) as { dependencies: Record<string, string> };
  const files = globSync("src/**/*.ts", { cwd: root }).filter((path) => !/\.test\.ts$|testing\.ts$/.test(path));
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

test("the Dockerfile copies what is there, and all that the server reads", () => {
  const copies = [...read("Dockerfile").matchAll(/^COPY (?!--from)(.+)$/gm)].flatMap(([, words]) =>
    words!.split(" ").slice(0, -1),
  );
  for (const path of copies) assert.ok(existsSync(join(root, path)), path);
  for (const path of ["bin", "src", "docs/openapi.json", "package.json", "package-lock.json"])
    assert.ok(copies.includes(path), `${path} is not in the image`);
});

test("the image's health check asks where the program listens, and is content with a node that has no page", async (t) => {
  const place = mkdtempSync(join(tmpdir(), "posthorn-health-"));
  t.after(() => rmSync(place, { recursive: true }));
  const [, words] = /^ {2}CMD (\[.+\])$/m.exec(read("Dockerfile"))!;
  const [program, ...args] = JSON.parse(words!) as string[];
  assert.equal(program, "node");
  let status = 200;
  const server = createServer((_, response) => response.writeHead(status).end()).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const exitCode = async (ports: object | undefined) => {
    if (ports) writeFileSync(join(place, "ports.json"), JSON.stringify(ports));
    const child = spawn(process.execPath, args, { env: { ...process.env, POSTHORN_DATA_DIR: place }, stdio: "ignore" });
    return (await once(child, "exit"))[0] as number;
  };
  assert.equal(await exitCode(undefined), 1, "not started yet");
  assert.equal(await exitCode({ pid: process.pid, http: port }), 0);
  status = 503;
  assert.equal(await exitCode({ pid: process.pid, http: port }), 1, "not ready");
  assert.equal(await exitCode({ pid: process.pid }), 0, "a node for delivery alone");
});

test("systemd reads the unit without a complaint", { skip: needs("systemd-analyze") }, () => {
  const place = mkdtempSync(join(tmpdir(), "posthorn-unit-"));
  try {
    const unit = read("deploy/posthorn.service");
    assert.match(unit, /^KillMode=mixed$/m);
    // The one thing that is not on this machine is the program under /opt.
    const path = join(place, "posthorn.service");
    writeFileSync(
      path,
      unit.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`).replace(/^(User|Group)=.*\n/gm, ""),
    );
    const said = execFileSync(pathOf("systemd-analyze"), ["verify", path], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
    assert.equal(said, "");
  } finally {
    rmSync(place, { recursive: true });
  }
});
