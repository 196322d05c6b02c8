/** The package as users get it: packed, installed from the tarball without a registry, run on each Node of this machine, type-checked. */
import assert from "node:assert/strict";
import { copyFile, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Code, ConnectError } from "@connectrpc/connect";
import { EmailService } from "../../src/gen/v1/email_pb.ts";
import { followThroughKill } from "./live.ts";
import { peerKey, startPeer } from "./peer.ts";
import { consumer, makeProject, nodes, run, sdk } from "./project.ts";

const tsc = join(sdk, "../node_modules/.bin/tsc");
let project: string;

before(async () => {
  project = await makeProject();
});

after(() => rm(project, { recursive: true, force: true }));

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

test("against the real program, the client on each Node sends, verifies, and streams on after a kill", async () => {
  await followThroughKill(project, await nodes());
});

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

test("the programs in its README compile", async () => {
  const readme = await readFile(join(sdk, "README.md"), "utf8");
  const programs = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1]!);
  assert.ok(programs.length >= 5);
  // What a reader has at hand where the page does not say so.
  const around = `import type { Posthorn as Client } from "posthorn";
declare global {
  const posthorn: Client;
  const pdf: Uint8Array;
  const secret: string;
  const signal: AbortSignal;
  const app: { post(path: string, handler: unknown): void };
  function remove(addresses: readonly string[]): void;
}
`;
  const files = programs.map((_, i) => `readme-${i}.ts`);
  // A program without imports is a module all the same.
  for (const [i, text] of programs.entries()) await writeFile(join(project, files[i]!), `${text}\nexport {};\n`);
  await writeFile(join(project, "around.d.ts"), around);
  const compilerOptions = {
    ...{ module: "nodenext", target: "es2022", lib: ["es2022", "dom", "dom.iterable"], types: [] },
    ...{ strict: true, noEmit: true, skipLibCheck: false },
  };
  await writeFile(
    join(project, "tsconfig.json"),
    JSON.stringify({ compilerOptions, files: ["around.d.ts", ...files] }),
  );
  const said = await run(tsc, ["-p", project]).catch((error: { stdout: string }) => error);
  assert.equal(said.stdout, "");
});
